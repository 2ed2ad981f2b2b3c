import type { RefObject } from "preact"
import { useId, useState } from "preact/hooks"

interface ComposerProps {
  readonly field: RefObject<HTMLTextAreaElement | null>
  readonly busy: boolean
  readonly disabled: boolean
  readonly onAsk: (question: string) => void
  readonly onStop: () => void
}

/** Key code of all keys that an input method takes (UI Events, legacy key models). */
const PROCESSED = 229

/**
 * Whether a key confirms a word of an input method. Safari ends the composition before this event, which then has only
 * the key code.
 */
const isOfInputMethod = ({ isComposing, keyCode }: KeyboardEvent): boolean => isComposing || keyCode === PROCESSED

export const Composer = ({ busy, disabled, field, onAsk, onStop }: ComposerProps) => {
  const [question, setQuestion] = useState("")
  const questionField = useId()
  const ready = !busy && !disabled && question.trim() !== ""
  const send = () => {
    if (!ready) return
    onAsk(question.trim())
    setQuestion("")
    field.current?.focus()
  }
  return (
    <form
      class="composer card"
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      <label class="visually-hidden" for={questionField}>
        Your question
      </label>
      <textarea
        id={questionField}
        ref={field}
        rows={1}
        value={question}
        disabled={disabled}
        placeholder={disabled ? "Pin an identity first." : "Your question, sealed here"}
        onInput={(event) => setQuestion(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || isOfInputMethod(event)) return
          event.preventDefault()
          send()
        }}
      />
      {/* Both buttons are always there, so that neither is pressed by mistake or loses the focus. */}
      <button type="button" aria-disabled={!busy} onClick={onStop}>
        Stop
      </button>
      <button type="submit" class="primary" aria-disabled={!ready}>
        Seal and send
      </button>
    </form>
  )
}
