/** How a vendor is described, so that settings and providers can be made from it. */
import type { ProviderOptions, WireFormat } from "./WireFormat.ts"

/** An API that one vendor has, or many. */
export interface ProviderFormat {
  /** What operators know it by. */
  readonly title: string
  /** What an operator has to know of its base URL. */
  readonly endpoint: string
  /** The HTTP statuses of the errors that it names. */
  readonly errors: Readonly<Record<string, number>>
  readonly wireFormat: (options: ProviderOptions) => WireFormat
}

/** A vendor: with this, its operator has only a key to give. */
export interface ProviderDescriptor {
  readonly format: ProviderFormat
  readonly baseUrl: string
  /** The model of requests that name none. */
  readonly model: string
  /** The environment variables by which the vendor's own tools know the same. */
  readonly aliases: {
    readonly apiKey: ReadonlyArray<string>
    readonly baseUrl: ReadonlyArray<string>
    readonly model: ReadonlyArray<string>
  }
}
