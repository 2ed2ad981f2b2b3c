/** Postgres for the gateway, shared by any number of gateway processes. */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as PgTypes from "@effect/sql-pg/PgTypes"
import { Duration, Redacted, Result } from "effect"

const INT8_OID = 20

/** TCP keep-alive after this silence: the listening connection would otherwise not notice a dead server. */
const KEEP_ALIVE = Duration.seconds(30)

/** Reads `BIGINT` as a number, as SQLite does: every stored integer is below 2^53. */
const int8AsNumber: PgTypes.Codec<number | bigint> = {
  encode: (value) => {
    const bytes = new Uint8Array(8)
    new DataView(bytes.buffer).setBigInt64(0, BigInt(value))
    return Result.succeed(bytes)
  },
  decode: (bytes) =>
    Result.succeed(Number(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigInt64(0))),
}

/**
 * Sessions use UTC, because the queue stores times without a zone. In a local zone, the repeated hour in autumn would hide
 * jobs for its length, and the skipped hour in spring would take jobs from live workers.
 */
const SESSION = { timezone: "UTC" }

export interface PostgresConfig {
  /** `postgres://user:password@host:port/database`, with libpq's parameters. */
  readonly url: Redacted.Redacted
  /** Connections of this process, one of them for LISTEN. Default: 10. */
  readonly maxConnections?: number | undefined
}

export const MAX_CONNECTIONS = 10

export const connectionOf = ({ url }: Pick<PostgresConfig, "url">) => {
  const types = PgTypes.makeRegistry()
  types.register(INT8_OID, int8AsNumber)
  // An application name in the URL takes precedence.
  const named = /[?&]application_name=/.test(Redacted.value(url))
  return {
    url,
    types,
    keepAlive: KEEP_ALIVE,
    startupParameters: SESSION,
    ...(named ? {} : { applicationName: "sealgate" }),
  }
}

export const layerPostgresClient = ({ maxConnections = MAX_CONNECTIONS, url }: PostgresConfig) =>
  PgClient.layer({ ...connectionOf({ url }), maxConnections })
