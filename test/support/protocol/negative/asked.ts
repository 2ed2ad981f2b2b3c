/** How something that a proxy is asked stands among the vectors. */
import type { Body, Given } from "./common.ts"

export type Asked = Given<
  {
    readonly path: "/v1/init" | "/v1/completions"
    /** To which session it was sealed, where it was. */
    readonly session?: string
    /** The proxy's clock when it comes, in milliseconds since the epoch. */
    readonly received_at_ms: number
    readonly content_type: string
    /** Bodies that the same proxy was sent, and answered, before. */
    readonly before?: ReadonlyArray<string>
    /** Status of the answer. */
    readonly status: number
    /** Code of the refusal or of the sealed problem. */
    readonly code?: string | undefined
    /** Values that open the sealed answer, as in vectors.json. */
    readonly exported_secret?: string
    readonly request_hash?: string
    /** Expected end record, if the answer is sealed. */
    readonly sealed?: {
      readonly form: string
      readonly status: string
      readonly jti: string | null
      readonly problem_status?: number
    }
  } & Body
>
