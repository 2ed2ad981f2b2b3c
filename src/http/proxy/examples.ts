/** One exchange with every operation of the proxy, for its OpenAPI document. Sealed and signed texts are abridged. */
import type { Models } from "../../api/proxy/ModelsApi.ts"
import type {
  CompletionRequest,
  EvidenceRequest,
  EvidenceResponse,
  InitRequest,
  InitResponse,
  PublicKeys,
  SealedFrames,
} from "../../api/proxy/SealedApi.ts"
import type { Examples } from "../shared/description/showExample.ts"
import { SYSTEM_EXAMPLES } from "../shared/description/systemExamples.ts"

const KEYS = {
  keys: [
    {
      kty: "OKP",
      crv: "Ed25519",
      x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
      kid: "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
      alg: "Ed25519",
      use: "sig",
    },
  ],
} satisfies typeof PublicKeys.Encoded

export const PROXY_EXAMPLES: Readonly<Record<string, Examples>> = {
  ...SYSTEM_EXAMPLES,
  init: {
    body: {
      client_nonce: "JJ1vYwQ2nB6xP0aC3mZyVg",
      suites: [{ kem: 32, kdf: 1, aead: 2 }],
    } satisfies typeof InitRequest.Encoded,
    answer: {
      attestation: "eyJhbGciOiJFZERTQSJ9.eyJzZXNzaW9uX2lkIjoi4oCmIn0.c2lnbmF0dXJl",
      ...KEYS,
    } satisfies typeof InitResponse.Encoded,
  },
  completions: {
    body: {
      session_id: "AKw9eYgIzLkQdgGPYa3ZuA",
      enc: "hpzIcQyVb6mB8oHyYc1vJ9s3Yc0p7vWJr0z6QeQKxkA",
      ciphertext: "8mS2nq0kXHc0yV5m0oL0cKqg",
    } satisfies typeof CompletionRequest.Encoded,
    answer: {
      response_nonce: "qD0m8QxU2pJmZ6bO0sUuGfXk3r1nN1o7zWg5cJk2b3A",
      frames: ["b2dTZWFsZWQgYW5zd2Vy", "c2lnbmVkIGVuZA"],
    } satisfies typeof SealedFrames.Encoded,
    stream: {
      id: null,
      event: "open",
      data: '{"response_nonce":"qD0m8QxU2pJmZ6bO0sUuGfXk3r1nN1o7zWg5cJk2b3A"}',
    },
  },
  evidence: {
    body: { nonce: "qD0m8QxU2pJmZ6bO0sUuGfXk3r1nN1o7zWg5cJk2b3A" } satisfies typeof EvidenceRequest.Encoded,
    answer: {
      format: "tdx",
      kid: KEYS.keys[0]?.kid ?? "",
      configuration: "eyJzb2Z0d2FyZSI6InNlYWxnYXRlLzAuMS4wIn0",
      report: "BAACAIEAAAA",
      path: { index: 0, size: 1, hashes: [] },
    } satisfies typeof EvidenceResponse.Encoded,
  },
  keys: { answer: KEYS },
  models: {
    answer: {
      object: "list",
      data: [{ id: "gpt-5-mini", object: "model", created: 0, owned_by: "provider1" }],
    } satisfies typeof Models.Encoded,
  },
}
