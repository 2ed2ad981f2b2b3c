/** The part of HTTP that the client uses: `fetch` does it, and so does what is in its place. */

/** What is sent of a request. */
export interface Sent {
  readonly method: "GET" | "POST"
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal?: AbortSignal
}

/** What comes of a body at once, or that nothing more comes. */
export type Piece =
  | { readonly done?: false; readonly value: Uint8Array }
  | { readonly done: true; readonly value: unknown }

/** What is read of a body. */
export interface AnswerBody {
  readonly getReader: () => {
    readonly read: () => Promise<Piece>
    readonly cancel: () => Promise<void>
  }
  readonly cancel: () => Promise<void>
}

/** What is read of a response. */
export interface Answer {
  readonly ok: boolean
  readonly status: number
  /** Of a `Response`, where browsers hide the status. */
  readonly type?: string
  readonly headers: { readonly get: (name: string) => string | null }
  readonly body: AnswerBody | null
}

export type Send = (url: string, sent: Sent) => Promise<Answer>
