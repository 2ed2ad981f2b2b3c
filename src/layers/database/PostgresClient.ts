/** Postgres for the gateway: shared by any number of gateway processes. */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as PgTypes from "@effect/sql-pg/PgTypes"
import { Duration, Redacted, Result } from "effect"

const INT8_OID = 20

/** After so much silence the system asks whether the server is still there; what listens would not notice otherwise. */
const KEEP_ALIVE = Duration.seconds(30)

/**
 * `BIGINT` as a number: every integer this product stores (milliseconds, micro-USD, counters) is below 2^53, and rows
 * then look the same from both databases.
 */
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
 * The queue keeps times without a zone. In a server's own, the hour that comes twice in autumn would hide jobs for its
 * length, and the one that is left out in spring would take them from workers that live.
 */
const SESSION = { timezone: "UTC" }

export interface PostgresConfig {
  /** `postgres://user:password@host:port/database`, with libpq's parameters. */
  readonly url: Redacted.Redacted
  /** Connections of this process; one of them listens. Default: 10. */
  readonly maxConnections?: number | undefined
}

/** Connections of a process unless its configuration says otherwise. */
export const MAX_CONNECTIONS = 10

/** How this product connects. */
export const connectionOf = ({ url }: Pick<PostgresConfig, "url">) => {
  const types = PgTypes.makeRegistry()
  types.register(INT8_OID, int8AsNumber)
  // A name in the URL is the operator's and goes first.
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
