import { Redacted, Schema } from "effect"
import { SecretInfo } from "../../domain/access/secrets.ts"
import { ApiPart, type CallOptions, run } from "./gatewayCalls.ts"

/** A secret, without its value. */
export type Secret = typeof SecretInfo.Encoded

const encode = Schema.encodeSync(SecretInfo)

export class SecretsClient extends ApiPart {
  /** By name. */
  async list(options?: CallOptions): Promise<ReadonlyArray<Secret>> {
    return (await run(this.connection.repeatable.secrets.list({}), options)).items.map((item) => encode(item))
  }

  /** Sets a bearer token that tools may send to `origin`, or the tenant's own key of a model provider. */
  async put(
    name: string,
    {
      value,
      ...destination
    }: { readonly value: string } & ({ readonly origin: string } | { readonly provider: string }),
    options?: CallOptions,
  ): Promise<Secret> {
    const payload = { value: Redacted.make(value), ...destination }
    return encode(await run(this.connection.api.secrets.put({ params: { name }, payload }), options))
  }

  async remove(name: string, options?: CallOptions): Promise<void> {
    await run(this.connection.api.secrets.remove({ params: { name } }), options)
  }
}
