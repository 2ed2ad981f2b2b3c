/** The conversation in a `generateContent` request (v1beta). */

export interface Content {
  readonly role: "user" | "model"
  readonly parts: ReadonlyArray<Part>
}

export type Part = TextPart | MediaPart | FunctionCallPart | FunctionResponsePart

export interface TextPart {
  readonly text: string
  readonly thoughtSignature?: string
}

export type MediaPart =
  | { readonly inlineData: { readonly mimeType: string; readonly data: string } }
  | { readonly fileData: { readonly mimeType?: string; readonly fileUri: string } }

export interface FunctionCallPart {
  readonly functionCall: {
    readonly id?: string
    readonly name: string
    readonly args: Readonly<Record<string, unknown>>
  }
  readonly thoughtSignature?: string
}

export interface FunctionResponsePart {
  readonly functionResponse: {
    readonly id?: string
    readonly name: string
    readonly response: Readonly<Record<string, unknown>>
    readonly parts?: ReadonlyArray<MediaPart>
  }
}
