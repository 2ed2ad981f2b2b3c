/** A tenant with a separate address that calls any of the gateways. */
import { Effect } from "effect"
import { type Call, call, tokenFor } from "../../support/gateway.ts"

/** Time limit for answers without a long poll. */
const PATIENCE_MS = 30_000

export class Caller {
  readonly tenant: string
  private readonly token: string
  private readonly address: string

  private constructor(tenant: string, token: string, address: string) {
    this.tenant = tenant
    this.token = token
    this.address = address
  }

  static readonly make = (tenant: string, number: number, roles: ReadonlyArray<string> = []) =>
    Effect.map(tokenFor(tenant, { roles }), (token) => new Caller(tenant, token, `198.51.100.${number}`))

  /** Rejects without an answer. */
  ask(gateway: { readonly url: string }, method: string, path: string, options: Omit<Call, "token"> = {}) {
    const headers = { "x-forwarded-for": this.address, ...options.headers }
    const asked = call(gateway, method, path, { ...options, token: this.token, headers })
    return Effect.runPromise(asked, { signal: AbortSignal.timeout(PATIENCE_MS) })
  }
}
