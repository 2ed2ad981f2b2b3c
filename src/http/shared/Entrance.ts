/** What is at `/`: people are led to the console, programs are told what there is. */
import { Effect } from "effect"
import { HttpRouter, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { SOFTWARE } from "../../domain/software.ts"

export interface EntranceOptions {
  readonly component: "proxy" | "gateway"
  /** Pages that are served, without their slash. */
  readonly pages: ReadonlyArray<string>
  /** What programs may want to know, without its slash. */
  readonly documents: ReadonlyArray<string>
}

const wantsPage = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  headers["accept"]?.includes("text/html") === true

/** Addresses are relative, so that they hold below any prefix. */
export const layerEntrance = ({ component, documents, pages }: EntranceOptions) => {
  const [first] = pages
  const list = HttpServerResponse.jsonUnsafe({ software: SOFTWARE, component, pages, documents })
  return HttpRouter.add("GET", "/", (request) =>
    Effect.succeed(
      first !== undefined && wantsPage(request)
        ? HttpServerResponse.redirect(first, { status: 302, headers: { vary: "accept" } })
        : HttpServerResponse.setHeader(list, "vary", "accept"),
    ),
  )
}
