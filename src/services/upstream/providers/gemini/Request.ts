/** The parts of a `generateContent` request that this product writes (v1beta). */

export interface GenerateContentRequest {
  readonly contents: ReadonlyArray<Content>
  readonly systemInstruction?: { readonly parts: ReadonlyArray<Part> }
  readonly tools?: ReadonlyArray<{ readonly functionDeclarations: ReadonlyArray<FunctionDeclaration> }>
  readonly toolConfig?: { readonly functionCallingConfig: FunctionCallingConfig }
  readonly generationConfig?: GenerationConfig
}

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

export interface FunctionDeclaration {
  readonly name: string
  readonly description?: string
  readonly parametersJsonSchema?: Readonly<Record<string, unknown>>
}

export interface FunctionCallingConfig {
  /** `VALIDATED` is `AUTO` with arguments held to the schemas. */
  readonly mode: "AUTO" | "ANY" | "NONE" | "VALIDATED"
  readonly allowedFunctionNames?: ReadonlyArray<string>
}

export interface GenerationConfig {
  readonly candidateCount?: number
  readonly maxOutputTokens?: number
  readonly stopSequences?: ReadonlyArray<string>
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly seed?: number
  readonly presencePenalty?: number
  readonly frequencyPenalty?: number
  readonly responseMimeType?: "application/json"
  readonly responseJsonSchema?: Readonly<Record<string, unknown>>
  readonly thinkingConfig?: { readonly thinkingLevel: string } | { readonly thinkingBudget: number }
}
