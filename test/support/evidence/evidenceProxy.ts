/** A proxy in evidence mode whose sources of evidence are stand-ins. */
import { join } from "node:path"
import { Layer, Logger } from "effect"
import { EvidenceProcess } from "../../../src/layers/evidence/EvidenceMode.ts"
import { EvidencePlaces } from "../../../src/services/evidence/EvidenceSource.ts"
import { type ProxyOptions, startProxy } from "../proxy.ts"
import { configfs } from "./standIns.ts"

/** The process of a proxy that may start in evidence mode. */
export const MEASURED = { env: {}, execArgv: ["--disable-sigusr1"] }

/** Starts a proxy in evidence mode whose sockets are in `folder`. */
export const startEvidenceProxy = (
  folder: string,
  settings: ProxyOptions["settings"],
  files: ReturnType<typeof configfs> = configfs("none", 0),
) =>
  startProxy({
    ...(settings === undefined ? {} : { settings }),
    services: Layer.mergeAll(
      Logger.layer([]),
      Layer.succeed(EvidencePlaces, {
        dstackSocket: join(folder, "dstack.sock"),
        tsmFolder: join(folder, "tsm"),
        // Only the overload of each function that the source uses.
        files: files as unknown as (typeof EvidencePlaces.Service)["files"],
        confidentialSpaceSocket: join(folder, "tee.sock"),
      }),
      Layer.succeed(EvidenceProcess, MEASURED),
    ),
  })
