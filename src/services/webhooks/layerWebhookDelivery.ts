/**
 * Delivers webhooks: at least once, by one gateway at a time, with growing delays for a day. A tenant's receivers get few
 * at once, so a slow one delays only its tenant's own.
 */
import { Clock, Duration, Effect, Latch, Layer, Random, Schema } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import { TenantId } from "../../domain/jobs/agent.ts"
import { JobStatus } from "../../domain/jobs/job.ts"
import { TASK_STATES } from "../../domain/jobs/taskState.ts"
import { OperatorBox, type SecretBox } from "../access/secretBox.ts"
import { regularly, rowByRow, survive } from "../background.ts"
import { databaseTime } from "../databaseTime.ts"
import { JobSettings } from "../jobs/JobSettings.ts"
import { Drain } from "../lifecycle/Drain.ts"
import { decodeRows, givenRows, unavailable } from "../storedRows.ts"
import { isRefused, REFUSED } from "../tools/guardedConnect.ts"
import { ToolNetwork, ToolTenant } from "../tools/ToolNetwork.ts"
import { RETRY_FOR } from "./outbox.ts"
import { openCredentials } from "./PushConfigs.ts"
import { makePushNotices } from "./pushNotices.ts"
import { signatureOf } from "./signature.ts"
import { secretsOf } from "./Webhooks.ts"

/** Deliveries of this process at once, and those of one tenant among them. */
const MOST = 16
const PER_TENANT = 4
/** How long a receiver may take to answer. */
const PATIENCE = Duration.seconds(10)
/** Time after which a gateway that claimed a delivery counts as dead. */
const LEASE = Duration.minutes(1)
const FIRST_DELAY = Duration.seconds(5)
const LONGEST_DELAY = Duration.hours(1)

const Row = Schema.Struct({
  id: Schema.String,
  tenant: TenantId,
  job_id: Schema.String,
  agent_id: Schema.String,
  url: Schema.String,
  event: Schema.String,
  job_status: JobStatus,
  created_at: Schema.Int,
  attempts: Schema.Int,
  /** The task's conversation, if this is a push notification of A2A. */
  context_id: Schema.NullOr(Schema.String),
  sealed: Schema.NullOr(Schema.String),
})
type Delivery = typeof Row.Type
/** The columns that settling needs, even if the others do not decode. */
type Claimed = Pick<Delivery, "id" | "tenant" | "created_at" | "attempts">
const decode = decodeRows("webhook_deliveries", Row)
const COLUMNS = Object.keys(Row.fields).join(", ")

/** The result of an attempt. `failure` says why it failed, and `again` whether another may succeed. */
type Attempted = { readonly failure?: undefined } | { readonly failure: string; readonly again: boolean }

/** The attempt ended in a defect, for example because this version cannot read the delivery. */
const FAULTY: Attempted = { failure: "The gateway met a fault.", again: true }

/** Delivers webhooks until a shutdown begins; not in a process without workers. */
export const layerWebhookDelivery = Layer.effectDiscard(
  Effect.gen(function* () {
    const drain = yield* Drain
    const { poll, workers } = yield* JobSettings
    if (workers === 0) return
    const sql = yield* SqlClient.SqlClient
    const attempt = makeAttempt(sql, { network: yield* ToolNetwork, box: yield* OperatorBox })
    const claim = makeClaim(sql)
    const writePushNotices = makePushNotices(sql)
    const underWay = new Set<Claimed>()
    /** Opened by the poll, and when a delivery ends, after which its tenant may have more. */
    const mayBeDue = yield* Latch.make()
    const attemptOf = (row: Claimed) => Effect.flatMap(decode([row]), (decoded) => Effect.forEach(decoded, attempt))
    const deliver = (row: Claimed) =>
      rowByRow([row], attemptOf, () => Effect.succeed([FAULTY])).pipe(
        Effect.flatMap(Effect.forEach((result) => settle(sql, row, result))),
        // A delivery whose outcome could not be stored is repeated after its lease.
        unavailable,
        survive,
        Effect.ensuring(Effect.sync(() => underWay.delete(row))),
        Effect.ensuring(mayBeDue.open),
      )
    const round = Effect.gen(function* () {
      if (underWay.size >= MOST) return
      for (const row of yield* claim(MOST - underWay.size, [...new Set([...underWay].map(({ tenant }) => tenant))])) {
        underWay.add(row)
        yield* Effect.forkScoped(deliver(row))
      }
    }).pipe(unavailable)
    const rounds = Effect.forever(Effect.andThen(Effect.andThen(mayBeDue.await, mayBeDue.close), survive(round)))
    const look = Effect.ensuring(unavailable(writePushNotices), mayBeDue.open)
    yield* Effect.forkScoped(Effect.raceFirst(rounds, drain.begun))
    yield* Effect.forkScoped(Effect.raceFirst(regularly(look, poll), drain.begun))
  }),
)

/** Returns a function that claims due deliveries of tenants that are not `busy`. */
const makeClaim = (sql: SqlClient.SqlClient) => {
  const now = databaseTime(sql)
  const given = givenRows(sql, { busy: "TEXT" })
  return Effect.fnUntraced(function* (most: number, busy: ReadonlyArray<TenantId>) {
    const isDue = sql`outcome IS NULL AND due_at <= ${yield* Clock.currentTimeMillis} AND leased_until <= (SELECT ${now})`
    // Jumps in the index from tenant to tenant, so that a tenant's long queue does not delay others.
    const next = (after: Statement.Fragment) =>
      sql`(SELECT MIN(tenant) FROM webhook_deliveries WHERE outcome IS NULL ${after})`
    const tenants = sql`WITH RECURSIVE tenants (name) AS (SELECT ${next(sql``)}
      UNION ALL SELECT ${next(sql`AND tenant > name`)} FROM tenants WHERE name IS NOT NULL)`
    const first = (which: Statement.Fragment) => sql`SELECT * FROM (SELECT id, tenant, due_at, attempts
      FROM webhook_deliveries WHERE tenant = name AND ${isDue} ${which} ORDER BY due_at LIMIT ${PER_TENANT}) AS first`
    // New deliveries come first. Otherwise those for a broken receiver would delay all later ones of its tenant.
    const own = sql`${first(sql`AND attempts = 0`)} UNION ${first(sql``)}`
    const waiting = sql.onDialectOrElse({
      // Not an `IN`, for which Postgres would look at all deliveries, also those that ended.
      pg: () => sql`tenants CROSS JOIN LATERAL (${own}) AS own`,
      orElse: () => sql`tenants JOIN webhook_deliveries ON id IN (SELECT id FROM (${own}))`,
    })
    const placed = sql`SELECT id, due_at, ROW_NUMBER() OVER (PARTITION BY tenant ORDER BY attempts > 0, due_at, id) AS place
      FROM ${waiting} WHERE name NOT IN (SELECT busy FROM ${given(busy.map((tenant) => ({ busy: tenant })))})`
    const chosen = sql`${tenants} SELECT id FROM (${placed}) AS placed
      WHERE place <= ${PER_TENANT} ORDER BY place, due_at LIMIT ${most}`
    const taken = sql`SET attempts = attempts + 1, leased_until = ${now} + ${Duration.toMillis(LEASE)}`
    const columns = sql.literal(COLUMNS)
    return yield* sql.onDialectOrElse({
      pg: () => sql<Claimed>`UPDATE webhook_deliveries ${taken} WHERE id = ANY (ARRAY(SELECT id FROM webhook_deliveries
        WHERE id = ANY (ARRAY(${chosen})) AND ${isDue} FOR UPDATE SKIP LOCKED)) RETURNING ${columns}`,
      orElse: () => sql<Claimed>`UPDATE webhook_deliveries ${taken} WHERE id IN (${chosen}) RETURNING ${columns}`,
    })
  })
}

interface Sending {
  readonly network: HttpClient.HttpClient
  readonly box: SecretBox | undefined
}

const makeAttempt = (sql: SqlClient.SqlClient, { box, network }: Sending) => {
  const client = HttpClient.withScope(network)
  return Effect.fnUntraced(function* (row: Delivery): Effect.fn.Return<Attempted, SqlError.SqlError> {
    const secrets = yield* secretsOf(sql, row.tenant)
    const credentials = row.sealed === null ? {} : yield* openCredentials(box, row.sealed, row.job_id, row.url)
    if (credentials === undefined) {
      return { failure: "Nothing was sent: its credentials cannot be decrypted.", again: false }
    }
    const [type, body] =
      row.context_id === null ? ["application/json", bodyOf(row)] : ["application/a2a+json", updateOf(row)]
    const timestamp = Math.floor((yield* Clock.currentTimeMillis) / 1000)
    const signature = signatureOf(secrets, { id: row.id, timestamp, body })
    const request = HttpClientRequest.post(row.url, {
      headers: {
        "user-agent": "sealgate",
        "webhook-id": row.id,
        "webhook-timestamp": String(timestamp),
        // Clients of A2A may have no secret.
        ...(signature === "" ? {} : { "webhook-signature": signature }),
        ...credentials,
      },
    }).pipe(HttpClientRequest.bodyText(body, type))
    return yield* client.execute(request).pipe(
      Effect.map(({ status }) => resultOf(status)),
      // The answer's body is not read.
      Effect.scoped,
      Effect.catch(({ reason }): Effect.Effect<Attempted> =>
        Effect.succeed(
          isRefused(reason.cause)
            ? { failure: `Nothing was sent: ${REFUSED}`, again: false }
            : { failure: "The receiver could not be reached.", again: true },
        ),
      ),
      Effect.timeoutOrElse({
        duration: PATIENCE,
        orElse: () =>
          Effect.succeed<Attempted>({
            failure: `The receiver did not answer within ${Duration.toSeconds(PATIENCE)} s.`,
            again: true,
          }),
      }),
      Effect.provideService(ToolTenant, row.tenant),
    )
  })
}

/** Ids and states only: the receiver reads the rest with its own key. */
const bodyOf = ({ agent_id, created_at, event, job_id, job_status }: Delivery): string =>
  JSON.stringify({
    type: event,
    timestamp: new Date(created_at).toISOString(),
    data: { job_id, agent_id, status: job_status },
  })

/** A push notification of A2A 1.0 (§4.3.3). */
const updateOf = ({ context_id, created_at, job_id, job_status }: Delivery): string => {
  const status = { state: TASK_STATES[job_status], timestamp: new Date(created_at).toISOString() }
  return JSON.stringify({ statusUpdate: { taskId: job_id, contextId: context_id, status } })
}

/** 410 ends the delivery (Standard Webhooks). */
const resultOf = (status: number): Attempted => {
  if (status >= 200 && status < 300) return {}
  return { failure: `The receiver answered with HTTP ${status}.`, again: status !== 410 }
}

/** Stores the result of an attempt, unless the delivery was claimed again meanwhile. */
const settle = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, row: Claimed, result: Attempted) {
  const now = yield* Clock.currentTimeMillis
  const delay = Duration.times(
    Duration.min(Duration.times(FIRST_DELAY, 2 ** Math.min(row.attempts - 1, 20)), LONGEST_DELAY),
    // Random, so that deliveries that failed together are not repeated together.
    yield* Random.nextBetween(0.5, 1),
  )
  const due_at = now + Math.ceil(Duration.toMillis(delay))
  const isOver = due_at > row.created_at + Duration.toMillis(RETRY_FOR)
  const outcome = result.failure === undefined ? "delivered" : isOver || !result.again ? "failed" : null
  yield* sql`UPDATE webhook_deliveries SET ${sql.update({ outcome, due_at, leased_until: 0, failure: result.failure ?? null })}
    WHERE id = ${row.id} AND attempts = ${row.attempts} AND outcome IS NULL`
})
