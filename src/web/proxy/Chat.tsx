import { Fragment, type RefObject } from "preact"
import { useLayoutEffect, useRef } from "preact/hooks"
import { DEMO_CONVERSATION } from "../../domain/chat/demoConversation.ts"
import { plural } from "../shared/format.ts"
import { type Exchange, isAttack } from "./exchanges.ts"

const Status = ({ exchange }: { readonly exchange: Exchange }) => {
  switch (exchange.status) {
    case "asking":
      return <span class="badge">… {plural(exchange.chain.length, "frame")} verified so far</span>
    case "verified":
      return <span class="badge good">✓ Answer, receipt and proof verified</span>
    case "stopped":
      return <span class="badge warn">■ Stopped; this exchange is forgotten</span>
    case "failed":
      return <span class="badge bad">{isAttack(exchange.failure) ? "✕ Refused" : "✕ No answer"}</span>
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

/** The screen reader announcement of an exchange. */
const announcement = (exchange: Exchange | undefined): string => {
  if (exchange === undefined) return ""
  if (exchange.status === "verified") return `Answer verified: ${exchange.answer}`
  if (exchange.status === "failed") return `${exchange.failure?.title ?? ""} ${exchange.failure?.detail ?? ""}`
  return exchange.status === "stopped" ? "Stopped." : "Sealed and sent; the answer is coming in."
}

interface ChatProps {
  readonly section: RefObject<HTMLElement | null>
  readonly exchanges: ReadonlyArray<Exchange>
  readonly pins: ReadonlyArray<string>
  readonly shown: number | undefined
  readonly onShow: (id: number) => void
  readonly onClear: () => void
  readonly hint: string
  /** Asks a question that the page proposes; absent while no question can be asked. */
  readonly onPropose: ((question: string) => void) | undefined
}

/** Keeps an element in view while the content before it changes with `inputs`, if it was in view or `asked` has just grown. */
const useFollowed = (asked: number, inputs: ReadonlyArray<unknown>) => {
  const element = useRef<HTMLDivElement>(null)
  const seen = useRef(false)
  const before = useRef(asked)
  // Measured after scrolling and not at every change, because measuring forces a layout.
  useLayoutEffect(() => {
    const look = () => {
      const { bottom = -1, top = -1 } = element.current?.getBoundingClientRect() ?? {}
      seen.current = top >= 0 && bottom <= innerHeight
    }
    look()
    // Captured, because scroll events of elements do not bubble.
    addEventListener("scroll", look, true)
    return () => removeEventListener("scroll", look, true)
  }, [])
  useLayoutEffect(() => {
    if (asked > before.current) seen.current = true
    before.current = asked
    if (asked > 0 && seen.current) element.current?.scrollIntoView({ block: "nearest" })
  }, [asked, ...inputs])
  return element
}

export const Chat = ({ exchanges, hint, onClear, onPropose, onShow, pins, section, shown }: ChatProps) => {
  const last = exchanges.at(-1)
  const lastBeforePins = exchanges.findLast((exchange) => exchange.pins !== pins)
  const end = useFollowed(exchanges.length, [last?.answer, last?.status])
  return (
    <section class="card stack chat" aria-label="Chat" ref={section}>
      <div class="row">
        <h2>Chat</h2>
        {exchanges.length > 0 && (
          <button type="button" class="quiet push" onClick={onClear}>
            New conversation
          </button>
        )}
      </div>
      {exchanges.length === 0 && <p class="muted">{hint}</p>}
      {exchanges.length === 0 && onPropose !== undefined && (
        <div class="row" role="group" aria-label="Questions to try">
          {Object.keys(DEMO_CONVERSATION).map((question) => (
            <button key={question} type="button" onClick={() => onPropose(question)}>
              {question}
            </button>
          ))}
        </div>
      )}
      <ol class="stack">
        {exchanges.map((exchange) => (
          <Fragment key={exchange.id}>
            <ExchangeView exchange={exchange} shown={exchange.id === shown} onShow={() => onShow(exchange.id)} />
            {exchange === lastBeforePins && (
              <li class="note small">
                The pinned identity changed. A new conversation begins here: nothing above is sent again.
              </li>
            )}
          </Fragment>
        ))}
      </ol>
      <div ref={end} class="end" />
      <p class="visually-hidden" role="status">
        {announcement(last)}
      </p>
    </section>
  )
}
