from case import Case, Expected, call_event


def provoke(world):
    world.run("openssl", "kdf", "-keylen", "32", "-kdfopt", "digest:SHA256", "-kdfopt", "pass:secret", "-kdfopt", "salt:salt",
              "-kdfopt", "iter:3000000", "PBKDF2")


CASE = Case("a key derivation with three million rounds", "openssl 3.0",
            lambda world: call_event("EVP_KDF_derive", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
                                     more='<scope binary="/usr/bin/openssl"/>'), provoke,
            Expected(cause=r"^Computed", guilty=r"\b(EVP_KDF_derive|HMAC_\w+|SHA256_\w+|EVP_Digest\w+|kdf_pbkdf2\w*)\b",
                     busy_cause=r"^Computed|^Waited .* for a CPU"), 150)
