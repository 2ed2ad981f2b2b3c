import type { SuiteName } from "../../domain/protocol/suites.ts"
import type { Policy } from "../attestation/Policy.ts"
import type { Fetch } from "../transport/transport.ts"
import type { VerifiedFrame } from "./ResponseOpener.ts"

export interface SealedClientOptions {
  /** Where the proxy is, such as `https://proxy.example.com`; without user and password. */
  readonly baseUrl: string | URL
  /** Key ids (`kid`) of the proxy identities to believe. Several allow a key to be rotated. */
  readonly pins?: ReadonlyArray<string>
  /**
   * Which code, configuration and hardware to believe, from `readPolicy` of `sealgate-client/policy`. Nothing is sealed before
   * the proxy's evidence is verified. With pins, both must hold. Without, a proven key counts as pinned for at most an hour.
   */
  readonly policy?: Policy
  /** Without pins, trusts the first identity that answers, and only that one from then on. It may be an attacker's. */
  readonly trustOnFirstUse?: boolean
  /**
   * Allowed cipher suites; default: all, the post-quantum one first. The proxy signs the offered list, so nobody on the path
   * can shorten it.
   */
  readonly suites?: ReadonlyArray<SuiteName>
  /**
   * Value for `Authorization`, such as `Bearer …`, or a function that returns it before each request. It is sealed, so only the
   * proxy can read it.
   */
  readonly credential?: string | (() => string | Promise<string>)
  /**
   * Milliseconds between the frames of streams, 20 to 1000; default 100. Frames follow a clock, so that nobody on the path can
   * count tokens. `0` sends each token as it comes, which lets the path count them.
   */
  readonly pace?: number
  /**
   * `never`: seals a request only once, even if the proxy says that it did not serve it. By default the client seals it again,
   * once, if its session is gone. One process serves a request at most once, but a restarted process remembers nothing.
   */
  readonly retry?: "never"
  /** How requests are sent; default: Node's own HTTP client in Node, else `fetch`. */
  readonly fetch?: Fetch
}

export interface RequestOptions {
  readonly signal?: AbortSignal
  /** Provider that must serve the request; default: the proxy's order. */
  readonly provider?: string
  /**
   * Whether a stream may start over with another provider after its first part. With `false`, a provider that fails midway ends
   * the stream with `AnswerIncomplete`. Default: `true` for Chat Completions; `false` for `messages` and `responses`, because
   * agents act on their parts as they come.
   */
  readonly restart?: boolean
  /**
   * Headers of the vendor's API, such as `anthropic-version`, by lower-case name. They go to the provider under the seal; the
   * proxy refuses all others.
   */
  readonly headers?: Readonly<Record<string, string>>
  /** Pace of this stream; default: the client's. */
  readonly pace?: number
  /**
   * UUID of the request in the receipt; default: a random one. A function is called again if the proxy calls the request
   * stale, which then is sealed once more.
   */
  readonly requestId?: string | (() => string)
  /** Trace context of the request, sent under the seal. The proxy ignores trace headers. */
  readonly trace?: { readonly traceparent: string; readonly tracestate?: string | undefined }
  /** Called with every verified frame, before its content is returned. */
  readonly onFrame?: (frame: VerifiedFrame) => void
}
