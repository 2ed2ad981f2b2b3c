/** What the members of the proxy's API mean. The full definitions are in docs/protocol. */
import { SHARED_GLOSSARY } from "../shared/description/glossary.ts"
import type { Glossary } from "../shared/description/describeMembers.ts"

export const PROXY_GLOSSARY: Glossary = {
  ...SHARED_GLOSSARY,
  client_nonce: "Fresh random bytes, base64url: the statement that comes back is of this very session.",
  suites: "Cipher suites that the client has (RFC 9180), the preferred first.",
  kem: "Its key encapsulation, by its number in the HPKE registry.",
  kdf: "Its key derivation.",
  aead: "Its cipher.",
  attestation:
    "A statement (JWS) of the proxy's attestation key: the session, its key and until when it holds. Verify it before sealing anything.",
  session_id: "Of the session that the request is sealed to, as its attestation has it.",
  enc: "The encapsulated key, base64url.",
  ciphertext: "The sealed request, base64url.",
  response_nonce: "From which both ends derive the key of the answer, base64url.",
  frames: "The sealed answer and its signed end, base64url.",
  event: "`open` begins the answer, `frame` is a piece of it, `proof` its signed end.",
  "completions.id": "Not sent.",
  "completions.data": "JSON, as the protocol describes it for each event.",
  keys: "Of the proxy's attestation, the current one first.",
  kty: "The type of key.",
  crv: "The curve.",
  x: "The public key, base64url.",
  kid: "Its name: the thumbprint (RFC 7638) that clients pin.",
  alg: "What it signs with.",
  use: "That it signs.",
  object: "As OpenAI's API has it.",
  "models.data": "The default model of every configured provider.",
  "data.id": "The model's name at its provider.",
  created: "Not known here; the format wants a number.",
  owned_by: "The provider that serves it.",
}
