/** The server's description of its own API. */
import { useEffect, useState } from "preact/hooks"
import { baseUrl } from "../shared/render.tsx"
import type { Document } from "./openApi.ts"

type Description = { readonly document: Document } | { readonly failure: string } | undefined

export const useDescription = (): { readonly description: Description; readonly reload: () => void } => {
  const [turn, setTurn] = useState(0)
  const [description, setDescription] = useState<Description>()
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    const load = async (): Promise<Document> => {
      const response = await fetch(`${baseUrl()}/openapi.json`, { signal, credentials: "omit" })
      if (!response.ok) throw new Error(`the server answered ${response.status}`)
      // The server that this page comes from makes it; a test compares what the page shows with what it says.
      return (await response.json()) as Document
    }
    load().then(
      (document) => setDescription({ document }),
      (error: unknown) => {
        if (!signal.aborted) setDescription({ failure: error instanceof Error ? error.message : String(error) })
      },
    )
    return () => controller.abort()
  }, [turn])
  return {
    description,
    reload: () => {
      setDescription(undefined)
      setTurn(turn + 1)
    },
  }
}
