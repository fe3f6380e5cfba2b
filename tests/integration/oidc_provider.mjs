// A real OpenID Connect provider (the npm package oidc-provider) with its own sign-in pages:
//   node oidc_provider.mjs BUILD_FOLDER PORT CLIENT_SECRET REDIRECT_URI
// It accepts any password. An account's groups are in its name: "ann+admins+staff" is ann in admins
// and staff.
import { createServer } from "node:http";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, port, client_secret, redirect_uri] = process.argv.slice(2);
const { default: Provider } = await import(
  pathToFileURL(join(resolve(folder), "node_modules/oidc-provider/lib/index.js"))
);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: "lagtrap",
      client_secret,
      redirect_uris: [redirect_uri],
      grant_types: ["authorization_code"],
      response_types: ["code"],
    },
  ],
  scopes: ["openid", "profile", "groups"],
  claims: { openid: ["sub"], profile: ["preferred_username"], groups: ["groups"] },
  // Otherwise the ID token has only the subject, and clients must request the rest.
  conformIdTokenClaims: false,
  pkce: { required: () => true, methods: ["S256"] },
  cookies: { keys: ["a key of this test alone"] },
  findAccount: (_context, id) => {
    const [name, ...groups] = id.split("+");
    return {
      accountId: id,
      claims: () => ({ sub: name, preferred_username: name.split("/")[0], groups }),
    };
  },
});
provider.on("server_error", (_context, error) => console.error(error));
createServer(provider.callback()).listen(Number(port), "127.0.0.1", () => console.log("listening"));
