/** Seals requests to a proxy, without sending them. */
import { randomUUID } from "node:crypto"
import { keysByThumbprint } from "../../src/client/verification/trust.ts"
import { sealRequest } from "../../src/client/sealed/sealRequest.ts"
import { type ClientSession, sessionRequest, verifySession } from "../../src/client/sealed/session.ts"
import { type Ask, jsonOf } from "./http.ts"

/** What is sealed, beside an id and the time. */
export type Payload = object

/** A function that seals to a session of its own, begun now. */
export const sealingTo = async (ask: Ask, url: string): Promise<(payload: Payload) => Promise<Buffer>> => {
  const keys = await keysByThumbprint(jsonOf(await ask("GET", `${url}/v1/keys`), 200))
  const begin = async (): Promise<ClientSession> => {
    const request = sessionRequest(["MLKEM768-X25519"])
    const { attestation } = jsonOf(await ask("POST", `${url}/v1/init`, request.body), 200)
    return verifySession(String(attestation), keys, request, Date.now())
  }
  const session = await begin()
  return async (payload) => {
    const requestId = randomUUID()
    const issued = { request_id: requestId, issued_at: Date.now() + session.clockOffset }
    const text = JSON.stringify({ ...issued, ...payload })
    const { body } = await sealRequest(session, { requestId, payload: text, credential: "" })
    return Buffer.from(JSON.stringify(body))
  }
}
