import type { ComponentChildren } from "preact"
import { useRef, useState } from "preact/hooks"
import { Bar } from "../shared/render.tsx"
import { AnotherIdentity } from "./AnotherIdentity.tsx"
import { Chat } from "./Chat.tsx"
import { Composer } from "./Composer.tsx"
import type { Exchange } from "./exchanges.ts"
import type { Intrusion } from "./intruder.ts"
import type { Pinned } from "./pins.ts"
import { Receipt } from "./Receipt.tsx"
import { Traffic } from "./Traffic.tsx"
import { type Heard, Trust } from "./Trust.tsx"
import { useConversation } from "./useConversation.ts"
import { useFocusNext } from "./useFocusNext.ts"
import { usePins } from "./usePins.ts"
import { type ProxyState, useReadiness } from "./useReadiness.ts"

const statusOf = ({ providers, status }: ProxyState) => {
  if (status === "silent") return { class: "badge bad", text: "✕ does not answer" }
  if (status === "unavailable") return { class: "badge bad", text: "✕ not ready" }
  return providers === "degraded"
    ? { class: "badge warn", text: "! ready, but a provider fails" }
    : { class: "badge good", text: "✓ ready" }
}

const About = ({ state }: { readonly state: ProxyState | undefined }) => {
  if (state === undefined) return null
  const status = statusOf(state)
  return (
    <>
      <span class={status.class}>{status.text}</span>
      {state.models.length > 0 && (
        <span class="badge">{state.models.map(({ id, owned_by }) => `${owned_by} (${id})`).join(", ")}</span>
      )}
    </>
  )
}

const hintFor = (state: ProxyState | undefined): string =>
  state?.providers === "none"
    ? "No provider key is set, so the built-in echo answers: canned answers to the questions that it proposes, else your own words. Everything else is real."
    : "Each question is sealed in this page; each piece of the answer is checked before you see it."

/** Derives from the last ended exchange who answered for the current pins. */
const heardOf = (exchanges: ReadonlyArray<Exchange>, pins: ReadonlyArray<string>): Heard => {
  const ended = exchanges.findLast((exchange) => exchange.pins === pins && exchange.status !== "asking")
  if (ended?.status === "verified" || ended?.failure?.kind === "refusal") return "them"
  if (ended?.failure?.kind === "identity") return "somebody else"
  return ended?.failure?.kind === "tampered" ? "somebody between" : "nobody"
}

const InsecureContext = () => (
  <p class="note bad" role="alert">
    Browsers offer cryptography only to pages from https or from this machine (localhost). Open this console over https.
  </p>
)

/** The conversation on the left, the evidence about it (`children`) on the right; one below the other on a phone. */
const Layout = (props: {
  readonly state: ProxyState | undefined
  readonly talk: ComponentChildren
  readonly children: ComponentChildren
}) => (
  <>
    <Bar title="sealgate: sealed proxy">
      <About state={props.state} />
    </Bar>
    <main id="main" class="stack split" tabIndex={-1}>
      <div class="talk">
        {globalThis.isSecureContext || <InsecureContext />}
        {props.talk}
      </div>
      <div class="evidence">{props.children}</div>
    </main>
  </>
)

export const App = () => {
  const { decline, offered, pin, pinned } = usePins()
  const [chosen, setChosen] = useState<number>()
  const [intrusion, setIntrusion] = useState<Intrusion>("none")
  const { ask, clear, exchanges, stop } = useConversation(pinned.pins)
  const last = exchanges.at(-1)
  const state = useReadiness(last?.status)
  const shown = exchanges.find(({ id }) => id === chosen) ?? last

  const question = useRef<HTMLTextAreaElement>(null)
  const chat = useRef<HTMLElement>(null)
  const wire = useRef<HTMLHeadingElement>(null)
  const focusNext = useFocusNext()

  const send = (text: string) => {
    setChosen(undefined)
    void ask(text, intrusion)
  }

  // The question field takes the focus once it is enabled.
  const pinAndAsk = (next: Pinned) => {
    pin(next)
    if (next.pins.length > 0) focusNext(question)
  }
  const propose = (text: string) => {
    send(text)
    // The focused button disappears with the proposals.
    question.current?.focus()
  }
  const show = (id: number) => {
    setChosen(id)
    showWhereItIs(wire.current)
  }
  const startOver = () => {
    clear()
    // The focused button disappears with the conversation.
    question.current?.focus()
  }
  const keep = () => {
    decline()
    focusNext(question)
  }
  const talk = (
    <>
      {offered !== undefined && (
        <AnotherIdentity
          pinned={pinned.pins}
          offered={offered}
          onKeep={keep}
          onTake={() => pinAndAsk({ pins: offered, from: "link" })}
        />
      )}
      <Trust pinned={pinned} heard={heardOf(exchanges, pinned.pins)} onPin={pinAndAsk} />
      <Chat
        section={chat}
        exchanges={exchanges}
        pins={pinned.pins}
        shown={shown?.id}
        hint={hintFor(state)}
        onPropose={pinned.pins.length === 0 ? undefined : propose}
        onShow={show}
        onClear={startOver}
      />
      <Composer
        field={question}
        busy={last?.status === "asking"}
        disabled={pinned.pins.length === 0}
        onStop={stop}
        onAsk={send}
      />
    </>
  )
  const back = () => showWhereItIs(chat.current?.querySelector<HTMLElement>('[aria-pressed="true"]') ?? null)
  return (
    <Layout state={state} talk={talk}>
      {shown?.end !== undefined && <Receipt exchange={shown} end={shown.end} />}
      <Traffic heading={wire} exchange={shown} intrusion={intrusion} onIntrusion={setIntrusion} onBack={back} />
    </Layout>
  )
}

/** Scrolls to and focuses an element that is out of view, as on a phone. */
const showWhereItIs = (element: HTMLElement | null): void => {
  const { bottom = 0, top = 0 } = element?.getBoundingClientRect() ?? {}
  if (element === null || (top >= 0 && bottom <= innerHeight)) return
  element.scrollIntoView({ block: "start" })
  element.focus({ preventScroll: true })
}
