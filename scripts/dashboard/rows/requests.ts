/** User requests, shared by several rows. */
import { quantile, rate } from "../promql.ts"

/** Matches user requests, without probes and scrapers. */
export const asked = { route: '!~"/health|/ready|/metrics"' }
export const failed = { ...asked, status: '=~"5.."' }
export const requests = rate("sealgate_http_requests_total", { where: asked })
export const latency = (q: number) => quantile(q, "sealgate_http_request_duration_seconds", { where: asked })
export const QUANTILES = [0.5, 0.95, 0.99] as const
export const percentile = (q: number) => `p${q * 100}`
