/** A tenant with a separate address that calls any of the gateways. */
import { Effect } from "effect"
import { tokenFor } from "../../support/gateway.ts"

export interface Reply {
  readonly status: number
  /** Members of a JSON body. */
  readonly json: Readonly<Record<string, unknown>>
  readonly headers: Headers
}

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
  async ask(
    gateway: { readonly url: string },
    method: string,
    path: string,
    options: { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Reply> {
    const response = await fetch(new URL(path, gateway.url), {
      method,
      signal: AbortSignal.timeout(PATIENCE_MS),
      headers: {
        authorization: `Bearer ${this.token}`,
        "x-forwarded-for": this.address,
        ...(options.body === undefined ? {} : { "content-type": "application/json" }),
        ...options.headers,
      },
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
    })
    const text = await response.text()
    const isJson = /json/.test(response.headers.get("content-type") ?? "")
    return { status: response.status, headers: response.headers, json: isJson ? JSON.parse(text) : {} }
  }
}
