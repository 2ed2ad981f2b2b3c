/** The jobs of a list, chosen before they are read: one page, restricted to one tenant. */
import { DateTime, Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { KeyLimits } from "../../domain/access/identity.ts"
import type { TenantId } from "../../domain/jobs/agent.ts"
import type { JobStatus } from "../../domain/jobs/job.ts"
import type { Mode } from "../../domain/jobs/modes.ts"
import {
  cursorOf,
  firstIdAt,
  type Page,
  type PageRequest,
  type PageRow,
  pageBounds,
  pageOf,
} from "../../domain/operations/storage.ts"
import { permitted } from "../storedRows.ts"
import { SHOWN_BYTES } from "./JobRows.ts"

/** Restricts a list of jobs. */
export interface JobFilter {
  /** The agents that the caller's key permits. */
  readonly agents?: KeyLimits["agents"]
  readonly agent_id?: string | undefined
  readonly thread_id?: string | undefined
  /** One status, or any of several. */
  readonly status?: JobStatus | ReadonlyArray<JobStatus> | undefined
  readonly mode?: Mode | undefined
  /** Only jobs created at `from` or later, and before `to`. */
  readonly from?: DateTime.Utc | undefined
  readonly to?: DateTime.Utc | undefined
  /** Searched in the task, the id and the trace id. */
  readonly q?: string | undefined
}

/** Maximum number of jobs that one page looks at if no index finds exactly those of its filter. */
const LOOKED_AT = 2000
/** Maximum number of tasks that one page searches, beside the limit of a page's bytes. */
const SEARCHED = 1000

/** An id is made after its job's `created_at` was read, and ids do not go back with the clock. */
const SKEW_MS = 60_000

const msOf = (time: DateTime.Utc): number => DateTime.toEpochMillis(time)

/**
 * Conditions of a filter, except its text. An index finds the `listed` jobs in order; the `chosen` conditions filter
 * them.
 */
const conditionsOf = (
  sql: SqlClient.SqlClient,
  tenant: TenantId,
  { agent_id, agents, from, mode, status, thread_id, to }: JobFilter,
) => {
  const indexed = [
    ...(thread_id === undefined ? [] : [sql`thread = ${thread_id}`]),
    ...(agent_id === undefined ? [] : [sql`agent_id = ${agent_id}`]),
    ...(status === undefined ? [] : [typeof status === "string" ? sql`status = ${status}` : sql.in("status", status)]),
  ]
  return {
    // Ids sort by time, so that the index finds the jobs of a span.
    listed: [
      sql`tenant = ${tenant}`,
      ...indexed.slice(0, 1),
      ...(from === undefined ? [] : [sql`created_at >= ${msOf(from)}`, sql`id >= ${firstIdAt(msOf(from))}`]),
      ...(to === undefined ? [] : [sql`created_at < ${msOf(to)}`, sql`id < ${firstIdAt(msOf(to) + SKEW_MS)}`]),
    ],
    chosen: [
      ...indexed.slice(1),
      ...(agents === undefined ? [] : [permitted(sql, "agent_id", agents)]),
      ...(mode === undefined ? [] : [sql`mode = ${mode}`]),
    ],
  }
}

/** Returns a function that counts the jobs of a list among those that a page may look at. It ignores a searched text. */
export const makeCountedJobs = (sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(function* (tenant: TenantId, filter: JobFilter) {
    const { chosen, listed } = conditionsOf(sql, tenant, filter)
    const newest = sql`SELECT agent_id, status, mode FROM jobs WHERE ${sql.and(listed)} ORDER BY id DESC LIMIT ${LOOKED_AT}`
    const [row] = yield* sql<{
      jobs: number
    }>`SELECT COUNT(*) AS jobs FROM (${newest}) AS newest WHERE ${sql.and(chosen)}`
    return row?.jobs ?? 0
  })

/** Returns a function that chooses the ids of a page by size, because all rows together may exceed memory. */
export const makeListedJobs = (sql: SqlClient.SqlClient) => {
  const shownBytes = sql.literal(SHOWN_BYTES)
  // Linear: LIKE would take time in proportion to the product of text and pattern. SQLite's `lower` changes ASCII
  // letters only.
  const placeOf = sql.onDialectOrElse({ pg: () => sql`strpos`, orElse: () => sql`instr` })

  /** Ids of a page whose jobs contain a text. Reads a bounded number of tasks: a page may be empty though more follow. */
  const search = Effect.fnUntraced(function* (wanted: Statement.Fragment, text: string, limit: number) {
    const rows = yield* sql<PageRow>`SELECT id, octet_length(task) AS bytes FROM jobs
      WHERE ${wanted} ORDER BY id DESC LIMIT ${SEARCHED + 1}`
    const { items, ...next } = pageOf(rows, SEARCHED)
    if (items.length === 0) return { items: [] }
    // The text as it is written within JSON.
    const part = JSON.stringify(text).slice(1, -1)
    const has = sql.or(
      ["task", "id", "traceparent"].map((column) => sql`${placeOf}(lower(${sql.literal(column)}), lower(${part})) > 0`),
    )
    const found = yield* sql<PageRow>`SELECT id, ${shownBytes} AS bytes FROM jobs
      WHERE id IN ${sql.in(items)} AND ${has} ORDER BY id DESC LIMIT ${limit + 1}`
    return { ...next, ...pageOf(found, limit) }
  })

  return Effect.fnUntraced(function* (tenant: TenantId, filter: JobFilter, request?: PageRequest) {
    const { before, limit } = yield* pageBounds(request)
    const { chosen, listed } = conditionsOf(sql, tenant, filter)
    listed.push(sql`id < ${before}`)
    // The last job to read, if more follow.
    const [floor] =
      chosen.length === 0
        ? []
        : yield* sql<{ id: string }>`SELECT id FROM jobs
            WHERE ${sql.and(listed)} ORDER BY id DESC LIMIT 1 OFFSET ${LOOKED_AT - 1}`
    const wanted = sql.and([...listed, ...(floor === undefined ? [] : [sql`id >= ${floor.id}`]), ...chosen])
    const found =
      filter.q === undefined
        ? pageOf(
            yield* sql<PageRow>`SELECT id, ${shownBytes} AS bytes FROM jobs
              WHERE ${wanted} ORDER BY id DESC LIMIT ${limit + 1}`,
            limit,
          )
        : yield* search(wanted, filter.q, limit)
    const page: Page<string> = floor === undefined ? found : { next_cursor: cursorOf(floor.id), ...found }
    return { page, wanted }
  })
}
