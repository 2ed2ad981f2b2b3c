import { Pins } from "./Trust.tsx"

interface AnotherIdentityProps {
  readonly pinned: ReadonlyArray<string>
  readonly offered: ReadonlyArray<string>
  readonly onKeep: () => void
  readonly onTake: () => void
}

/** Asks what to do when a link names other pins. The current ones stay in force meanwhile. */
export const AnotherIdentity = ({ offered, onKeep, onTake, pinned }: AnotherIdentityProps) => (
  <section class="card stack" aria-label="Another identity">
    <h2>This link names another identity than the one that is pinned.</h2>
    <p class="note warn" role="alert">
      Anybody can make such a link. Keep the pinned identity, unless the operator of this proxy gave you a new key id.
    </p>
    <dl class="stack">
      <div class="stack tight">
        <dt class="small muted">Pinned, and in force</dt>
        <dd class="stack tight">
          <Pins pins={pinned} />
        </dd>
      </div>
      <div class="stack tight">
        <dt class="small muted">In the link</dt>
        <dd class="stack tight">
          <Pins pins={offered} />
        </dd>
      </div>
    </dl>
    <div class="row">
      <button type="button" class="primary" onClick={onKeep}>
        Keep what is pinned
      </button>
      <button type="button" onClick={onTake}>
        Pin what the link names
      </button>
    </div>
  </section>
)
