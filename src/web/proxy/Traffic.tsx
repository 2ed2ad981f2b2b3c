import { DEFAULT_PACE } from "../../domain/protocol/pace.ts"
import type { RefObject } from "preact"
import { useId } from "preact/hooks"
import { plural } from "../shared/format.ts"
import type { Exchange, Link, WireItem } from "./exchanges.ts"
import { type Attack, ATTACKS, type Intrusion } from "./intruder.ts"

/** Length of a folded message, in characters. */
const EXCERPT = 64
/** Number of chain links shown; earlier ones are only counted. */
const LINKS = 60

const STATES = {
  open: { mark: "○", words: "in the clear" },
  own: { mark: "●", words: "sealed here" },
  sealed: { mark: "…", words: "sealed, not checked yet" },
  signed: { mark: "…", words: "signed, not checked yet" },
  verified: { mark: "✓", words: "verified" },
  refused: { mark: "✕", words: "refused" },
  unread: { mark: "–", words: "not read" },
} as const

const Item = ({ item }: { readonly item: WireItem }) => {
  const { mark, words } = STATES[item.state]
  return (
    <li class={`crossing ${item.state} arriving`}>
      <div class="crossing-head">
        <span class="direction">{item.direction === "out" ? "you → proxy" : "proxy → you"}</span>
        <strong>{item.title}</strong>
        <span class="size">
          {plural(item.bytes, "byte")}
          {item.after !== undefined && `, after ${(item.after / 1000).toFixed(1)} s`}
        </span>
        <span class="state">
          <span aria-hidden="true">{mark}</span> {words}
        </span>
      </div>
      <div class="sides">
        {item.text.length <= EXCERPT ? (
          <pre>{item.text === "" ? "(no body)" : item.text}</pre>
        ) : (
          <details>
            <summary>
              <code>{item.text.slice(0, EXCERPT)}…</code>
            </summary>
            <pre>{item.text}</pre>
          </details>
        )}
        <p>{item.meaning}</p>
      </div>
    </li>
  )
}

const ticksOf = (links: ReadonlyArray<Link>): string => {
  const ticks = links.filter(({ final }) => !final).length
  return `${plural(ticks, "frame")} came by the clock, one every ${DEFAULT_PACE / 1000} s, with or without new text, so that observers cannot count tokens.`
}

const Chain = ({ links, proven }: { readonly links: ReadonlyArray<Link>; readonly proven: boolean }) => (
  <figure class="stack">
    <figcaption class="small muted">
      Each link hashes the one before and the next frame, so a missing, changed or moved frame breaks the chain. Each
      shows its first characters.
    </figcaption>
    <ol class="chain" aria-label={`Chain of ${plural(links.length, "verified frame")}${proven ? ", proven" : ""}`}>
      {links.length > LINKS && <li class="earlier">{links.length - LINKS} earlier</li>}
      {links.slice(-LINKS).map(({ chain, final, index }) => (
        <li key={index} class={final ? "final arriving" : "arriving"}>
          <code>{chain.slice(0, 5)}</code>
        </li>
      ))}
      {proven && (
        <li class="proven arriving">
          <span aria-hidden="true">✓</span> proof
        </li>
      )}
    </ol>
  </figure>
)

/** The messages to expect, in order. */
const PREVIEW = [
  ["you → proxy", "Asks for a session", "in the clear: a random number"],
  ["proxy → you", "The offer of a session", "signed by the identity that you pin"],
  ["you → proxy", "The question, sealed", "padded, so that its length says little"],
  ["proxy → you", "Frames of the answer", "sealed, one a tick, chained to one another"],
  ["proxy → you", "The proof", "signed over the whole chain"],
] as const

const Preview = () => (
  <>
    <p class="muted">
      Ask something to see what an observer between you and the proxy could record, and beside it the meaning that only
      you and the proxy know.
    </p>
    <ol class="stack crossings preview">
      {PREVIEW.map(([direction, title, meaning]) => (
        <li key={title} class="crossing">
          <p class="crossing-head">
            <span class="direction">{direction}</span> <strong>{title}</strong>
          </p>
          <p class="muted">{meaning}</p>
        </li>
      ))}
    </ol>
  </>
)

const isAttack = (value: string): value is Attack => Object.hasOwn(ATTACKS, value)

interface IntruderProps {
  readonly intrusion: Intrusion
  readonly onIntrusion: (intrusion: Intrusion) => void
}

/** Switches the attacker on and off, and chooses the attack on the next question. */
const Intruder = ({ intrusion, onIntrusion }: IntruderProps) => {
  const name = useId()
  const isOn = intrusion !== "none"
  return (
    <div class={isOn ? "intruder on" : "intruder"}>
      <label class="switch">
        <input
          type="checkbox"
          role="switch"
          checked={isOn}
          onChange={({ currentTarget: { checked } }) => onIntrusion(checked ? "flip" : "none")}
        />
        Play the attacker
      </label>
      {isOn ? (
        <fieldset>
          <legend class="small">On the next answer’s way to you:</legend>
          <div class="row">
            {Object.entries(ATTACKS).map(([value, words]) => (
              <label key={value} class="attack">
                <input
                  type="radio"
                  name={name}
                  value={value}
                  checked={value === intrusion}
                  onChange={() => isAttack(value) && onIntrusion(value)}
                />
                {words}
              </label>
            ))}
          </div>
        </fieldset>
      ) : (
        <p class="small muted">Interfere with the next answer on its way, and see how this page reacts.</p>
      )}
    </div>
  )
}

interface TrafficProps extends IntruderProps {
  readonly heading: RefObject<HTMLHeadingElement | null>
  readonly exchange: Exchange | undefined
  readonly onBack: () => void
}

export const Traffic = ({ exchange, heading, onBack, ...intruder }: TrafficProps) => (
  <section class="card stack wire" aria-label="On the wire">
    <div class="row">
      <h2 ref={heading} tabIndex={-1}>
        On the wire
      </h2>
      {exchange !== undefined && (
        <button type="button" class="quiet push back" onClick={onBack}>
          Back to the chat
        </button>
      )}
    </div>
    <Intruder {...intruder} />
    {exchange === undefined ? (
      <Preview />
    ) : (
      <>
        {exchange.chain.length > 0 && <p class="small">{ticksOf(exchange.chain)}</p>}
        {exchange.chain.length > 0 && <Chain links={exchange.chain} proven={isProven(exchange)} />}
        <div class="sides side-names" aria-hidden="true">
          <p>What crosses the wire</p>
          <p>What it means</p>
        </div>
        <ol class="stack crossings">
          {exchange.wire.map((item) => (
            <Item key={item.key} item={item} />
          ))}
        </ol>
      </>
    )}
  </section>
)

const isProven = ({ wire }: Exchange): boolean =>
  wire.some(({ state, what }) => what === "proof" && state === "verified")
