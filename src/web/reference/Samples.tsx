import { useState } from "preact/hooks"
import { type Answer, type Language, LANGUAGES } from "./languages.ts"
import type { Operation } from "./openApi.ts"
import type { Request } from "./request.ts"

const answerOf = ({ responses }: Operation): Answer => {
  const success = Object.entries(responses).find(([status]) => status.startsWith("2"))?.[1]
  const [type] = Object.keys(success?.content ?? {})
  if (type === undefined) return "nothing"
  if (type === "text/event-stream") return "stream"
  return type === "application/json" ? "json" : "text"
}

const isLanguage = (name: string): name is Language => Object.hasOwn(LANGUAGES, name)

/** Copies a text; says that it did, or that the browser did not let it. */
const Copy = ({ text, what }: { readonly text: string; readonly what: string }) => {
  const [said, setSaid] = useState("")
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setSaid("Copied.")
    } catch {
      setSaid("This browser does not let pages copy. Select the text instead.")
    }
  }
  return (
    <span class="row push">
      <span class="small muted" role="status">
        {said}
      </span>
      <button type="button" class="quiet" aria-label={`Copy ${what}`} onClick={() => void copy()}>
        Copy
      </button>
    </span>
  )
}

interface SamplesProps {
  readonly operation: Operation
  readonly request: Request
  readonly language: Language
  readonly onLanguage: (language: Language) => void
}

/** The request in a language of the reader's choice, with what was filled in below. */
export const Samples = ({ language, onLanguage, operation, request }: SamplesProps) => {
  const text = LANGUAGES[language](request, answerOf(operation))
  return (
    <section class="stack tight">
      <div class="row tight" role="group" aria-label={`Sample of ${operation.summary ?? operation.operationId}`}>
        {Object.keys(LANGUAGES)
          .filter(isLanguage)
          .map((name) => (
            <button
              key={name}
              type="button"
              class="quiet"
              aria-pressed={name === language}
              onClick={() => onLanguage(name)}
            >
              {name}
            </button>
          ))}
        <Copy text={text} what={`the ${language} sample`} />
      </div>
      <pre class="sample">{text}</pre>
    </section>
  )
}
