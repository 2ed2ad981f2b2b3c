import { useCallback, useEffect, useState } from "preact/hooks"
import type { NewKey } from "../../client/gateway/GatewayKeys.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import { Bar, baseUrl } from "../shared/render.tsx"
import { AgentsView } from "./agents/AgentsView.tsx"
import { AgentView } from "./agents/AgentView.tsx"
import { NewAgentView } from "./agents/NewAgentView.tsx"
import type { Failure } from "./failure.ts"
import { JobsView } from "./jobs/JobsView.tsx"
import { JobView } from "./jobs/JobView.tsx"
import { Navigation } from "./Navigation.tsx"
import { NotReady } from "./NotReady.tsx"
import { AuditView } from "./audit/AuditView.tsx"
import { KeysView } from "./keys/KeysView.tsx"
import { NewSecret } from "./keys/NewSecret.tsx"
import { hrefOf, type Route, useRoute } from "./route.ts"
import { OverviewView } from "./overview/OverviewView.tsx"
import { RoutingView } from "./routing/RoutingView.tsx"
import { SchedulesView } from "./schedules/SchedulesView.tsx"
import { forgetToken, keptToken, type SignedIn, signIn, whyEnded, whyForgotten } from "./session/signedIn.ts"
import { SessionContext } from "./session/SessionContext.ts"
import { SignIn } from "./session/SignIn.tsx"
import type { Owner } from "./session/token.ts"

const ViewOf = ({ route }: { readonly route: Route }) => {
  switch (route.view) {
    case "agents":
      return <AgentsView />
    case "new-agent":
      return <NewAgentView />
    case "agent":
      return <AgentView id={route.id} />
    case "jobs":
      return <JobsView status={route.status} thread={route.thread} />
    case "job":
      return <JobView id={route.id} />
    case "overview":
      return <OverviewView />
    case "schedules":
      return <SchedulesView />
    case "routing":
      return <RoutingView />
    case "keys":
      return <KeysView />
    case "audit":
      return <AuditView />
  }
}

interface Access {
  readonly session?: SignedIn
  /** Why the session ended. */
  readonly reason?: Failure
}

/** Forgets the session, here and for a reload. */
const leave = (reason?: Failure): Access => {
  forgetToken()
  return withoutUndefined({ reason })
}

const TITLE = "sealgate: agent gateway"

interface SessionPageProps {
  readonly session: SignedIn
  readonly showKey: (created: NewKey) => void
  readonly onSignOut: () => void
}

const SessionPage = ({ onSignOut, session, showKey }: SessionPageProps) => {
  const route = useRoute()
  const [said, setSaid] = useState("")
  const announce = useCallback((text: string) => setSaid(text), [])
  return (
    <SessionContext.Provider value={{ ...session, announce, showKey }}>
      <Bar title={TITLE}>
        <Navigation route={route} owner={session.owner} onSignOut={onSignOut} />
      </Bar>
      <main id="main" class="stack" tabIndex={-1}>
        <NotReady />
        <ViewOf key={hrefOf(route)} route={route} />
      </main>
      <p class="visually-hidden" role="status">
        {said}
      </p>
    </SessionContext.Provider>
  )
}

const Page = ({ showKey }: Pick<SessionPageProps, "showKey">) => {
  const [{ reason, session }, setAccess] = useState<Access>({})

  // A refusal may arrive late, so it ends only the session whose token was refused.
  const end = useCallback((owner: Owner) => {
    setAccess((access) => (access.session?.owner === owner ? leave(whyEnded(owner, Date.now())) : access))
  }, [])

  // A token that was kept is checked like one that is pasted. It stays if the gateway merely could not be reached.
  const [kept, setKept] = useState(keptToken)
  useEffect(() => {
    if (kept === undefined) return
    void signIn(kept, baseUrl(), end).then((outcome) => {
      if ("gateway" in outcome) setAccess({ session: outcome })
      else setAccess(outcome.final === true ? leave(whyForgotten(outcome)) : { reason: outcome })
      setKept(undefined)
    })
  }, [])

  if (kept !== undefined) return <Bar title={TITLE} />
  if (session !== undefined) {
    return <SessionPage session={session} showKey={showKey} onSignOut={() => setAccess(leave())} />
  }
  return (
    <>
      <Bar title={TITLE} />
      <SignIn reason={reason} onSignedIn={(session) => setAccess({ session })} onEnd={end} />
    </>
  )
}

export const App = () => {
  const [created, setCreated] = useState<NewKey>()
  return (
    <>
      <Page showKey={setCreated} />
      {created !== undefined && <NewSecret created={created} onDone={() => setCreated(undefined)} />}
    </>
  )
}
