import type { RefObject } from "preact"
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks"
import type { Exchange } from "./exchanges.ts"
import { INTRUSIONS, type Intrusion } from "./intruder.ts"

const Status = ({ exchange }: { readonly exchange: Exchange }) => {
  switch (exchange.status) {
    case "asking":
      return <span class="badge">… {exchange.chain.length} frames verified so far</span>
    case "verified":
      return <span class="badge good">✓ Answer, receipt and proof verified</span>
    case "stopped":
      return <span class="badge warn">■ Stopped; this exchange is forgotten</span>
    case "failed":
      return <span class="badge bad">{exchange.failure?.kind === "other" ? "✕ No answer" : "✕ Refused"}</span>
  }
}

interface ExchangeViewProps {
  readonly exchange: Exchange
  readonly shown: boolean
  readonly onShow: () => void
}

const ExchangeView = ({ exchange, onShow, shown }: ExchangeViewProps) => (
  <li class="exchange stack arriving">
    <p class="question">
      <span class="visually-hidden">You asked: </span>
      {exchange.question}
    </p>
    {exchange.restarted !== undefined && (
      <p class="note warn small">A provider failed in the middle ({exchange.restarted}); another one started over.</p>
    )}
    {exchange.answer !== "" && (
      <p class={exchange.status === "failed" ? "answer void" : "answer"}>
        <span class="visually-hidden">The model answered: </span>
        {exchange.answer}
      </p>
    )}
    {exchange.failure !== undefined && (
      <div class="note bad">
        <strong>{exchange.failure.title}</strong>
        <p class="small">{exchange.failure.detail}</p>
      </div>
    )}
    <div class="row">
      <Status exchange={exchange} />
      <button type="button" class="quiet" aria-pressed={shown} onClick={onShow}>
        {shown ? "On the wire: shown" : "Show on the wire"}
      </button>
    </div>
  </li>
)

/** What to say to those who do not see the page, once per exchange. */
const announcement = (exchange: Exchange | undefined): string => {
  if (exchange === undefined) return ""
  if (exchange.status === "verified") return `Answer verified: ${exchange.answer}`
  if (exchange.status === "failed") return `${exchange.failure?.title ?? ""} ${exchange.failure?.detail ?? ""}`
  return exchange.status === "stopped" ? "Stopped." : "Sealed and sent; the answer is coming in."
}

interface ComposerProps {
  /** Of the question. */
  readonly field: RefObject<HTMLTextAreaElement | null>
  readonly busy: boolean
  readonly disabled: boolean
  readonly onAsk: (question: string, intrusion: Intrusion) => void
  readonly onStop: () => void
}

const isIntrusion = (value: string): value is Intrusion => Object.hasOwn(INTRUSIONS, value)

const Composer = ({ busy, disabled, field, onAsk, onStop }: ComposerProps) => {
  const [question, setQuestion] = useState("")
  const [intrusion, setIntrusion] = useState<Intrusion>("none")
  const questionField = useId()
  const intrusionField = useId()
  const ready = !busy && !disabled && question.trim() !== ""
  const send = () => {
    if (!ready) return
    onAsk(question.trim(), intrusion)
    setQuestion("")
    field.current?.focus()
  }
  return (
    <form
      class="composer stack"
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      <div class="field">
        <label for={questionField}>Your question</label>
        <textarea
          id={questionField}
          ref={field}
          rows={2}
          value={question}
          disabled={disabled}
          placeholder={disabled ? "Pin an identity first." : "Sealed before it leaves this page"}
          onInput={(event) => setQuestion(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return
            event.preventDefault()
            send()
          }}
        />
      </div>
      <div class="row">
        <div class="field intruder">
          <label for={intrusionField}>On the way to you, there is</label>
          <select
            id={intrusionField}
            value={intrusion}
            onChange={({ currentTarget: { value } }) => isIntrusion(value) && setIntrusion(value)}
          >
            {Object.entries(INTRUSIONS).map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        </div>
        {/* Both stay, also when they cannot be used, so that neither is pressed for the other or takes the focus away. */}
        <button type="button" class="push" aria-disabled={!busy} onClick={onStop}>
          Stop
        </button>
        <button type="submit" class="primary" aria-disabled={!ready}>
          Seal and send
        </button>
      </div>
    </form>
  )
}

interface ChatProps extends Omit<ComposerProps, "busy"> {
  readonly exchanges: ReadonlyArray<Exchange>
  readonly shown: number | undefined
  readonly onShow: (id: number) => void
  readonly onClear: () => void
  readonly hint: string
}

/** Keeps an element in view while what comes before it changes with `inputs`: for who looks at it, or when told to. */
const useFollowed = (inputs: ReadonlyArray<unknown>) => {
  const element = useRef<HTMLDivElement>(null)
  const seen = useRef(false)
  // Asked after scrolling and not at every change: where things are costs a layout of the page.
  useLayoutEffect(() => {
    const look = () => {
      const { bottom = -1, top = -1 } = element.current?.getBoundingClientRect() ?? {}
      seen.current = top >= 0 && bottom <= innerHeight
    }
    look()
    addEventListener("scroll", look)
    return () => removeEventListener("scroll", look)
  }, [])
  useLayoutEffect(() => {
    if (seen.current) element.current?.scrollIntoView({ block: "nearest" })
  }, inputs)
  return {
    element,
    follow: () => {
      seen.current = true
    },
  }
}

export const Chat = ({ exchanges, hint, onAsk, onClear, onShow, shown, ...composer }: ChatProps) => {
  const last = exchanges.at(-1)
  const end = useFollowed([exchanges.length, last?.answer, last?.status])
  return (
    <section class="card stack chat" aria-label="Chat">
      <div class="row">
        <h2>Chat</h2>
        {exchanges.length > 0 && (
          <button type="button" class="quiet push" onClick={onClear}>
            New conversation
          </button>
        )}
      </div>
      {exchanges.length === 0 && <p class="muted">{hint}</p>}
      <ol class="stack">
        {exchanges.map((exchange) => (
          <ExchangeView
            key={exchange.id}
            exchange={exchange}
            shown={exchange.id === shown}
            onShow={() => onShow(exchange.id)}
          />
        ))}
      </ol>
      <div ref={end.element} />
      <p class="visually-hidden" role="status">
        {announcement(last)}
      </p>
      <Composer
        {...composer}
        busy={last?.status === "asking"}
        onAsk={(question, intrusion) => {
          end.follow()
          onAsk(question, intrusion)
        }}
      />
    </section>
  )
}
