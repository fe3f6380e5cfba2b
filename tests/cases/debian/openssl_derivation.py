from case import Case, Expected, call_event


def provoke(world):
    # EVP_KDF_derive ends in a jump to the function that computes; this one calls it.
    world.run(
        "openssl",
        "enc",
        "-aes-256-cbc",
        "-pbkdf2",
        "-iter",
        "3000000",
        "-k",
        "secret",
        "-in",
        "/dev/null",
        "-out",
        "/dev/null",
    )


CASE = Case(
    "a key derivation with three million rounds",
    "openssl 3.0",
    lambda world: call_event(
        "PKCS5_PBKDF2_HMAC",
        "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
        more='<scope binary="/usr/bin/openssl"/>',
    ),
    provoke,
    Expected(
        cause=r"^Computed",
        guilty=(
            r"\b(EVP_KDF_derive|PKCS5_PBKDF2_HMAC|HMAC_\w+|SHA256_\w+|EVP_Digest\w+|"
            r"kdf_pbkdf2\w*)\b"
        ),
        busy_cause=r"^Computed|^Waited .* for a CPU",
    ),
    150,
)
