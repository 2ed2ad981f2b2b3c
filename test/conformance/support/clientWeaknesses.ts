/** Checks of our client, each taken away. */
import type { Weakness } from "./weakened.ts"

const NEVER = "false"

export const CLIENT_WEAKNESSES: ReadonlyArray<Weakness> = [
  {
    name: "any offer",
    must: "C14",
    file: "client/session.ts",
    from: "offer.init_hash !== encodeBase64Url(await sha256(utf8(body)))",
    to: NEVER,
  },
  {
    name: "any suite",
    must: "C15",
    file: "client/session.ts",
    from: "suite === undefined || !suites.includes(suite)",
    to: "suite === undefined",
  },
  { name: "weak keys", must: "C4", file: "client/session.ts", from: "!suite.isSoundKey(publicKey)", to: NEVER },
  {
    name: "sessions that are over",
    must: "C17",
    file: "client/session.ts",
    from: "lifetime < SHORTEST_SESSION_MS",
    to: NEVER,
  },
  { name: "any issuer", must: "C12", file: "client/trust.ts", from: 'claims["iss"] !== parsed.kid', to: NEVER },
  { name: "any version", must: "C13", file: "client/claims.ts", from: "version !== VERSION", to: NEVER },
  {
    name: "any header",
    must: "C9",
    file: "domain/statement.ts",
    from: "Object.keys(header).sort().join() !== HEADER_MEMBERS",
    to: NEVER,
  },
  {
    name: "any signature",
    must: "C11",
    file: "client/trust.ts",
    from: "await verifyEd25519(parsed.signature, parsed.signed, publicKey)",
    to: "true",
  },
  { name: "padding of any bytes", must: "C21", file: "domain/padding.ts", from: "padding === 0", to: "true" },
  {
    name: "end records of any size",
    must: "C44",
    file: "client/ResponseOpener.ts",
    from: "payload.length !== endRecordLength(payload.length)",
    to: NEVER,
  },
  {
    name: "any chain",
    must: "C41",
    file: "client/ResponseOpener.ts",
    from: "receipt.root === encodeBase64Url(this.dataChain)",
    to: "true",
  },
  {
    name: "any question",
    must: "C41",
    file: "client/ResponseOpener.ts",
    from: "receipt.request_commitment === encodeBase64Url(await requestCommitment(commitKey, credential, this.sent.payload))",
    to: "true",
  },
  {
    name: "any success",
    must: "C27",
    file: "client/SealedClient.ts",
    from: "response.status === 200",
    to: "response.ok",
  },
  {
    name: "members twice",
    must: "C2",
    file: "domain/iJson.ts",
    from: "seen[depth]?.get(name) === open[depth]",
    to: NEVER,
  },
  {
    name: "more after the proof",
    must: "C37",
    file: "client/SealedStream.ts",
    from: "!(await isOver(events))",
    to: NEVER,
  },
  {
    name: "restarts that were forbidden",
    must: "C38",
    file: "client/SealedStream.ts",
    from: "restart === false",
    to: NEVER,
  },
  {
    name: "sealing again after a break",
    must: "C26",
    file: "client/delivery.ts",
    from: "problem !== undefined && SESSION_OVER.has(problem.code)",
    to: "true",
  },
]
