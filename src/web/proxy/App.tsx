import { useRef, useState } from "preact/hooks"
import { Bar } from "../shared/render.tsx"
import { Chat } from "./Chat.tsx"
import { pinsInLink, rememberedPins, rememberPins, storeOf } from "./pins.ts"
import { Receipt } from "./Receipt.tsx"
import { Trust } from "./Trust.tsx"
import { useConversation } from "./useConversation.ts"
import { useFocusNext } from "./useFocusNext.ts"
import { type ProxyState, useReadiness } from "./useReadiness.ts"
import { Wire } from "./Wire.tsx"

const store = storeOf(() => localStorage)

/** Pins that came with the link are new; otherwise the ones from last time. */
const firstPins = (): ReadonlyArray<string> => {
  const linked = pinsInLink(location.hash)
  if (linked.length === 0) return rememberedPins(store)
  rememberPins(store, linked)
  return linked
}

const About = ({ state }: { readonly state: ProxyState | undefined }) =>
  state === undefined ? null : (
    <>
      <span class={state.ready ? "badge good" : "badge bad"}>{state.ready ? "✓ ready" : "✕ not ready"}</span>
      <span class="badge">{state.providers.map(({ model, provider }) => `${provider} (${model})`).join(", ")}</span>
      <span class="badge">session keys in {state.key_storage} memory</span>
    </>
  )

const hintFor = (state: ProxyState | undefined): string =>
  state?.providers.some(({ provider }) => provider === "echo") === true
    ? "No provider key is set, so the built-in echo answers with your own words. Everything else is real."
    : "Each question is sealed in this page; each piece of the answer is checked before you see it."

export const App = () => {
  const [pins, setPins] = useState(firstPins)
  const [chosen, setChosen] = useState<number>()
  const state = useReadiness()
  const { ask, clear, exchanges, stop } = useConversation(pins)
  const shown = exchanges.find(({ id }) => id === chosen) ?? exchanges.at(-1)

  const question = useRef<HTMLTextAreaElement>(null)
  const focusNext = useFocusNext()

  const pin = (next: ReadonlyArray<string>) => {
    rememberPins(store, next)
    setPins(next)
    // Whoever pinned an identity can ask now; the field takes the focus once it is enabled.
    if (next.length > 0) focusNext(question)
  }
  return (
    <>
      <Bar title="sealgate: sealed proxy">
        <About state={state} />
      </Bar>
      <main id="main" class="split" tabIndex={-1}>
        <div class="stack">
          {globalThis.isSecureContext || (
            <p class="note bad" role="alert">
              Browsers offer cryptography only to pages from https or from this machine (localhost). Open this console
              over https.
            </p>
          )}
          <Trust pins={pins} onPins={pin} />
          <Chat
            field={question}
            exchanges={exchanges}
            shown={shown?.id}
            hint={hintFor(state)}
            disabled={pins.length === 0}
            onShow={setChosen}
            onStop={stop}
            onClear={() => {
              clear()
              // The button that had the focus goes with the conversation.
              question.current?.focus()
            }}
            onAsk={(question, intrusion) => {
              setChosen(undefined)
              void ask(question, intrusion)
            }}
          />
          {shown?.end !== undefined && <Receipt exchange={shown} end={shown.end} />}
        </div>
        <Wire exchange={shown} />
      </main>
    </>
  )
}
