/** The part of `fetch` that the client uses, so that other HTTP clients can replace it. */

export interface HttpRequest {
  readonly method: "GET" | "POST"
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal?: AbortSignal
}

/** The next piece of a body, or its end. */
export type BodyPiece =
  | { readonly done?: false; readonly value: Uint8Array }
  | { readonly done: true; readonly value: unknown }

export interface AnswerBody {
  readonly getReader: () => {
    readonly read: () => Promise<BodyPiece>
    readonly cancel: () => Promise<void>
  }
  readonly cancel: () => Promise<void>
}

export interface HttpResponse {
  readonly ok: boolean
  readonly status: number
  readonly headers: { readonly get: (name: string) => string | null }
  readonly body: AnswerBody | null
}

export type Send = (url: string, sent: HttpRequest) => Promise<HttpResponse>
