/** Reads the proxy's status and models. They are not signed, so do not rely on them. */
import { useEffect, useState } from "preact/hooks"
import type { PublicReadiness } from "../../domain/operations/readiness.ts"
import type { Model } from "../../client/sdk/vendors/models.ts"
import { isObject } from "../../domain/json/json.ts"
import { baseUrl } from "../shared/render.tsx"

export interface ProxyState extends Partial<Pick<PublicReadiness, "providers">> {
  /** `silent`: the last request got no answer of the proxy in time. */
  readonly status: PublicReadiness["status"] | "silent"
  readonly models: ReadonlyArray<Model>
}

const EVERY_MS = 5000

/** Whether an answer is the proxy's: a limit or a load balancer may answer instead. The other members are only displayed. */
const isReadiness = (answer: unknown): answer is PublicReadiness =>
  isObject(answer) && (answer["status"] === "ready" || answer["status"] === "unavailable")

/** The models in an answer; `undefined` if it is no list of models. */
const modelsIn = (answer: unknown): ReadonlyArray<Model> | undefined =>
  isObject(answer) && Array.isArray(answer["data"]) ? answer["data"] : undefined

/** Polls now, whenever `occasion` changes, and every few seconds. */
export const useReadiness = (occasion: unknown): ProxyState | undefined => {
  const [state, setState] = useState<ProxyState>()
  useEffect(() => {
    let isStopped = false
    let last = new AbortController()
    const look = async () => {
      // A check that is still unanswered when the next one begins has failed.
      last.abort()
      if (document.hidden) return
      last = new AbortController()
      const { signal } = last
      const get = async (path: string): Promise<unknown> => (await fetch(`${baseUrl()}${path}`, { signal })).json()
      try {
        const [readiness, answer] = await Promise.all([get("/ready"), get("/v1/models")])
        if (isReadiness(readiness)) {
          return setState((known) => ({ ...readiness, models: modelsIn(answer) ?? known?.models ?? [] }))
        }
      } catch {
        // No readable answer.
      }
      if (!isStopped) setState((known) => ({ status: "silent", models: known?.models ?? [] }))
    }
    void look()
    const timer = setInterval(() => void look(), EVERY_MS)
    return () => {
      isStopped = true
      last.abort()
      clearInterval(timer)
    }
  }, [occasion])
  return state
}
