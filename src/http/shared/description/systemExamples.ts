import type { Health } from "../../../api/SystemApi.ts"
import type { PublicReadiness } from "../../../domain/operations/readiness.ts"
import { SOFTWARE } from "../../../domain/operations/software.ts"
import type { Examples } from "./showExample.ts"

export const SYSTEM_EXAMPLES: Readonly<Record<string, Examples>> = {
  health: { answer: { status: "ok", software: SOFTWARE } satisfies typeof Health.Encoded },
  ready: { answer: { status: "ready", providers: "ok", mtls: "off" } satisfies typeof PublicReadiness.Encoded },
}
