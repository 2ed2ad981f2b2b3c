/** Requests as the fake upstream understood them, independent of the wire format. */

export type WireName = "openai" | "anthropic" | "gemini"

/** One message. A tool's result is a turn of its own, even where a format packs several into one message. */
export interface Turn {
  readonly role: "user" | "assistant" | "system" | "tool"
  readonly text: string
}

export interface Asked {
  readonly wire: WireName
  /** The caller's key. */
  readonly key: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The parsed JSON as it was sent. */
  readonly body: unknown
  readonly model: string
  readonly stream: boolean
  /** Instructions from the format's own place for them, or from leading system messages; "" when there are none. */
  readonly system: string
  readonly turns: ReadonlyArray<Turn>
  /** Text of the last turn. */
  readonly text: string
  readonly tools: ReadonlyArray<{ readonly name: string }>
  /** JSON Schema that the answer has to follow, `"any"` for JSON without a schema. */
  readonly json: unknown
  /** The number of answers asked for. */
  readonly choices: number
  /** Whether a stream has to report usage. */
  readonly usage: boolean
}

/** How a request ended: the fake sent all it meant to, the fake broke it off, or the caller hung up. */
export type Ending = "answered" | "broken" | "hung-up"

export interface Recorded {
  /** Milliseconds, monotonic (`performance.now()`), when its headers had arrived. */
  readonly at: number
  /** Serial number of the TCP connection: equal numbers mean that it was reused. */
  readonly connection: number
  readonly method: string
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** `undefined` for a path that no format has. */
  readonly wire: WireName | undefined
  /** The parsed JSON, or the text if it is malformed. */
  readonly body: unknown
  /** `undefined` when the request was refused. */
  readonly asked: Asked | undefined
  /** Why the request was refused although the script would have answered it. */
  readonly refused: string | undefined
  /** Status that was sent, `undefined` while there is none. */
  readonly status: number | undefined
  readonly ending: Ending | undefined
  /** When it ended, on the clock of `at`. */
  readonly endedAt: number | undefined
  /** Settles when the request has ended. */
  readonly ended: Promise<Ending>
}
