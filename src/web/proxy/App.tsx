import { useState } from "preact/hooks"
import { Bar } from "../shared/render.tsx"
import { Chat } from "./Chat.tsx"
import { pinsInLink, rememberedPins, rememberPins } from "./pins.ts"
import { Receipt } from "./Receipt.tsx"
import { Trust } from "./Trust.tsx"
import { useConversation } from "./useConversation.ts"
import { type ProxyState, useReadiness } from "./useReadiness.ts"
import { Wire } from "./Wire.tsx"

/** Pins that came with the link are new; otherwise the ones from last time. */
const firstPins = (): ReadonlyArray<string> => {
  const linked = pinsInLink(location.hash)
  if (linked.length === 0) return rememberedPins(localStorage)
  rememberPins(localStorage, linked)
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

  const pin = (next: ReadonlyArray<string>) => {
    rememberPins(localStorage, next)
    setPins(next)
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
            exchanges={exchanges}
            shown={shown?.id}
            hint={hintFor(state)}
            disabled={pins.length === 0}
            onShow={setChosen}
            onStop={stop}
            onClear={clear}
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
