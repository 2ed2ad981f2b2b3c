/** Reads the proxy's status and models. They are not signed, so do not rely on them. */
import { useEffect, useState } from "preact/hooks"
import type { PublicReadiness } from "../../domain/operations/readiness.ts"
import type { Model } from "../../client/sdk/vendors/models.ts"
import { baseUrl } from "../shared/render.tsx"

export interface ProxyState extends Partial<Pick<PublicReadiness, "providers">> {
  /** `silent`: the last request got no answer. */
  readonly status: PublicReadiness["status"] | "silent"
  readonly models: ReadonlyArray<Model>
}

const EVERY_MS = 5000

/** Polls now, whenever `occasion` changes, and every few seconds. */
export const useReadiness = (occasion: unknown): ProxyState | undefined => {
  const [state, setState] = useState<ProxyState>()
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    const get = async (path: string): Promise<unknown> => (await fetch(`${baseUrl()}${path}`, { signal })).json()
    const look = async () => {
      if (document.hidden) return
      try {
        const [readiness, models] = await Promise.all([get("/ready"), get("/v1/models")])
        // Only displayed, and from the server that sent this page, so its shape is not checked.
        const { data } = models as { readonly data: ReadonlyArray<Model> }
        setState({ ...(readiness as PublicReadiness), models: data })
      } catch {
        // No readable answer.
        if (!signal.aborted) setState((known) => ({ status: "silent", models: known?.models ?? [] }))
      }
    }
    void look()
    const timer = setInterval(() => void look(), EVERY_MS)
    return () => {
      controller.abort()
      clearInterval(timer)
    }
  }, [occasion])
  return state
}
