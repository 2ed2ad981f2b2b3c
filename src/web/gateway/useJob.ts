/** One job, followed: read once, then its event stream, which the client takes up again when it is cut. */
import { useEffect, useReducer, useState } from "preact/hooks"
import { isEnded } from "../../domain/job.ts"
import { useSession } from "./context.ts"
import { explain, type Failure } from "./failure.ts"
import { type JobNews, type JobState, withNews } from "./jobState.ts"

/** How often a job that is waiting for its turn is looked at: the stream says nothing before its first step. */
const EVERY_MS = 2000

export interface FollowedJob {
  readonly state: JobState | undefined
  readonly failure: Failure | undefined
  /** Begins anew after a failure. */
  readonly retry: () => void
  readonly hear: (news: JobNews) => void
}

export const useJob = (id: string): FollowedJob => {
  const { gateway } = useSession()
  const [state, hear] = useReducer(withNews, undefined)
  const [failure, setFailure] = useState<Failure>()
  const [turn, setTurn] = useState(0)

  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    let timer: ReturnType<typeof setTimeout> | undefined

    const read = async () => {
      const job = await gateway.jobs.get(id, { signal })
      if (!signal.aborted) hear({ type: "read", job })
      return job
    }
    const failed = (error: unknown) => {
      if (!signal.aborted) setFailure(explain(error))
    }
    const look = () => {
      clearTimeout(timer)
      timer = setTimeout(() => {
        if (document.hidden) return look()
        read().then((job) => {
          if (!isEnded(job.status)) look()
        }, failed)
      }, EVERY_MS)
    }
    const follow = async () => {
      const job = await read()
      setFailure(undefined)
      if (isEnded(job.status)) return
      look()
      hear({ type: "following" })
      for await (const event of gateway.jobs.events(id, { signal })) {
        hear(event)
        // Status, attempt and cost are the job's own.
        if (event.type === "step") read().catch(failed)
      }
      clearTimeout(timer)
    }
    follow().catch(failed)
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [gateway, id, turn])

  return { state, failure, hear, retry: () => setTurn((turn) => turn + 1) }
}
