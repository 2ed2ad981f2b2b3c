import { Effect } from "effect"
import type { clientSettings } from "../../layers/config/clientSettings.ts"
import { type Setting, decodeSettings } from "../../layers/config/Setting.ts"
import { unusable } from "../CommandFailed.ts"

type ClientSetting = (typeof clientSettings)[keyof typeof clientSettings]

/** Decodes settings of clients. A mistake has exit code 2, as in a flag. */
export const clientValues = <const Settings extends Readonly<Record<string, ClientSetting & Setting<unknown>>>>(
  settings: Settings,
) => Effect.mapError(decodeSettings(settings), ({ message }) => unusable(message))
