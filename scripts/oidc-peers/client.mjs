// npm `oidc-provider` with people, clients and keys for tests. Its last argument is the port.
//
// Whoever signs in as NAME is NAME@example.com, verified unless NAME begins with "unverified". One client for each
// algorithm, `warren-ALG`, all with the secret "client secret of tests". Keys are made at each start. A client may come
// back to any port of this machine.
import { generateKeyPairSync } from "node:crypto";
import { Provider } from "oidc-provider";

const port = Number(process.argv.at(-1));
// Another site than the Warren that signs in by it, so that cookies are kept apart as they would be.
const issuer = `http://localhost:${port}`;
const callback = "http://127.0.0.1/api/v1/sign-in/provider/callback";
const algorithms = ["RS256", "PS256", "ES256", "EdDSA", "HS256"];

const key = (kind, options, more) => {
  const { privateKey } = generateKeyPairSync(kind, options);
  return { ...privateKey.export({ format: "jwk" }), use: "sig", ...more };
};

const provider = new Provider(issuer, {
  clients: algorithms.map((algorithm) => ({
    client_id: `warren-${algorithm}`,
    client_secret: "client secret of tests",
    application_type: "native",
    redirect_uris: [callback],
    response_types: ["code"],
    grant_types: ["authorization_code"],
    token_endpoint_auth_method: "client_secret_basic",
    id_token_signed_response_alg: algorithm,
  })),
  jwks: {
    keys: [
      key("rsa", { modulusLength: 2048 }, { kid: "rsa" }),
      key("ec", { namedCurve: "P-256" }, { kid: "ec" }),
      key("ed25519", {}, { kid: "ed" }),
    ],
  },
  enabledJWA: { idTokenSigningAlgValues: algorithms },
  clientAuthMethods: ["client_secret_basic", "client_secret_post"],
  cookies: { keys: ["for tests alone"] },
  claims: { email: ["email", "email_verified"], profile: ["name", "preferred_username"] },
  // E-mail and name are in userinfo alone.
  conformIdTokenClaims: true,
  pkce: { required: () => true },
  features: { devInteractions: { enabled: true } },
  findAccount: (_context, id) => ({
    accountId: id,
    claims: () => ({
      sub: `sub-of-${id}`,
      email: `${id}@example.com`,
      email_verified: !id.startsWith("unverified"),
      name: `${id[0].toUpperCase()}${id.slice(1)} Example`,
      preferred_username: id,
    }),
  }),
});
provider.listen(port, "localhost");
