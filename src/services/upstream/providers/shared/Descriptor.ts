/** Describes a vendor. Settings and providers are made from it. */
import type { ProviderOptions, WireFormat } from "./WireFormat.ts"

/** A format that one or more vendors speak. */
export interface ProviderFormat {
  readonly title: string
  /** HTTP statuses by the names of its errors. */
  readonly errors: Readonly<Record<string, number>>
  readonly wireFormat: (options: ProviderOptions) => WireFormat
}

/** A vendor, described so that its operator only has to give a key. */
export interface ProviderDescriptor {
  readonly format: ProviderFormat
  readonly baseUrl: string
  /** The model of requests that name none. */
  readonly model: string
  /** The environment variables that the vendor's own tools use for the same settings. */
  readonly aliases: {
    readonly apiKey: ReadonlyArray<string>
    readonly baseUrl: ReadonlyArray<string>
    readonly model: ReadonlyArray<string>
  }
}
