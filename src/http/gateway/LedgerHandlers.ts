import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { CSV_HEADER, csvOf } from "../../domain/routing/ledgerCsv.ts"
import { GatewayApi } from "../../api/gateway/GatewayApi.ts"
import { LedgerExport } from "../../services/routing/LedgerExport.ts"
import { layerHandlers } from "../shared/layerHandlers.ts"
import { prefersCsv } from "./prefersCsv.ts"
import { tenantIn } from "./scopes.ts"

const DEFAULT_LIMIT = 100

/** The same request with another cursor, as a `Link` header (RFC 8288). */
const linkTo = (url: string, cursor: string): string => {
  const { searchParams } = new URL(url, "http://gateway")
  searchParams.set("cursor", cursor)
  return `</api/v1/ledger?${searchParams}>; rel="next"`
}

export const LedgerHandlers = layerHandlers(
  GatewayApi,
  "ledger",
  Effect.fn(function* (handlers) {
    const ledger = yield* LedgerExport
    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query: { cursor, limit = DEFAULT_LIMIT, scope, ...filter }, request }) {
        const { tenant } = yield* tenantIn(scope)
        const page = yield* ledger.list({ ...filter, tenant }, { cursor, limit })
        if (!prefersCsv(request.headers["accept"])) return page
        return HttpServerResponse.text(CSV_HEADER + csvOf(page.items), {
          contentType: "text/csv; charset=utf-8; header=present",
          headers: {
            vary: "Accept",
            ...(page.next_cursor === undefined ? {} : { link: linkTo(request.url, page.next_cursor) }),
          },
        })
      }),
    })
  }),
)
