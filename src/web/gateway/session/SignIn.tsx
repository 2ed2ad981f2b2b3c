import { useLayoutEffect, useRef, useState } from "preact/hooks"
import { baseUrl } from "../../shared/render.tsx"
import type { Failure } from "../failure.ts"
import { Problem } from "../View.tsx"
import { forgetToken, keepToken, type SignedIn, signIn } from "./signedIn.ts"
import type { Owner } from "./token.ts"

const Sources = () => (
  <section class="stack small" aria-labelledby="where">
    <h3 id="where">Where to get one</h3>
    <dl class="facts ways">
      <dt>To try it</dt>
      <dd>
        <code>sealgate gateway --dev</code> prints a token at start that is valid until it stops.
      </dd>
      <dt>With a secret</dt>
      <dd>
        <code>JWT_SECRET=… sealgate token --sub you --tenant yours --role admin</code> creates one that is valid for an
        hour.
      </dd>
      <dt>In production</dt>
      <dd>Your identity provider issues it. Ask the operator of the gateway.</dd>
    </dl>
  </section>
)

interface SignInProps {
  /** Why the last session ended. */
  readonly reason: Failure | undefined
  readonly onSignedIn: (session: SignedIn) => void
  readonly onEnd: (owner: Owner) => void
}

/** Asks for a token. Only the input field and the session hold it. */
export const SignIn = ({ onEnd, onSignedIn, reason }: SignInProps) => {
  const field = useRef<HTMLInputElement>(null)
  const keep = useRef<HTMLInputElement>(null)
  const [failure, setFailure] = useState(reason)
  const [busy, setBusy] = useState(false)

  useLayoutEffect(() => {
    document.title = "Sign in · sealgate gateway"
    field.current?.focus()
  }, [])

  const submit = async (event: Event) => {
    event.preventDefault()
    const input = field.current
    if (input === null || busy) return
    setBusy(true)
    const pasted = input.value
    const outcome = await signIn(pasted, baseUrl(), onEnd)
    setBusy(false)
    if ("gateway" in outcome) {
      if (keep.current?.checked === true) keepToken(pasted)
      else forgetToken()
      input.value = ""
      onSignedIn(outcome)
      return
    }
    setFailure(outcome)
    input.focus()
    input.select()
  }

  return (
    <main id="main" class="sign-in stack" tabIndex={-1}>
      <h2>Sign in</h2>
      <p class="muted">
        Shows the agents, jobs and costs of your token's tenant. The token stays in this page's memory unless you choose
        to keep it.
      </p>
      {failure !== undefined && <Problem failure={failure} />}
      <form class="card stack" onSubmit={(event) => void submit(event)}>
        <div class="field">
          <label for="token">Token</label>
          <input
            id="token"
            type="password"
            ref={field}
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
            required
            aria-describedby="token-hint"
          />
          <p id="token-hint" class="small muted">
            A JSON Web Token, alone or with the text around it that a command printed.
          </p>
        </div>
        <div class="field">
          <label class="choice" for="keep">
            <input id="keep" type="checkbox" ref={keep} aria-describedby="keep-hint" />
            Stay signed in when the page reloads
          </label>
          <p id="keep-hint" class="small muted">
            Keeps the token in this tab's session storage until you sign out or close the tab. A script on this page, or
            the next user of this tab, could read it there.
          </p>
        </div>
        <button type="submit" class="primary" aria-disabled={busy}>
          {busy ? "Signing in…" : "Sign in"}
        </button>
      </form>
      <Sources />
    </main>
  )
}
