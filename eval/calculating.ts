/** Lets models with recorded solutions recompute every calculation of theirs before they answer. */
import type { Call, Play } from "./harness.ts"
import { playing } from "./play.ts"
import { Worksheet } from "./Worksheet.ts"
import type { Question } from "./World.ts"

/** Continues a worksheet with the outputs of the turn before. No call is due if the model may make none. */
const turnOf = (sheet: Worksheet, { messages, offersTools }: Call) => {
  const outputs = messages.slice(messages.findLastIndex(({ role }) => role !== "tool") + 1)
  const due = sheet.next(outputs.map(({ content }) => Number(/^BEGIN \w+\n(.*)$/m.exec(String(content))?.[1])))
  return offersTools ? due : []
}

/** Authors correct what follows from a corrected result; their answer changes if it is such a result. */
export const authors = (question: Question): Play => {
  const sheets = new Map<string, Worksheet>()
  const play = playing({ ...question, said: (model, nth) => sheets.get(model)?.corrected ?? question.said(model, nth) })
  return (call) => {
    const { model } = call.target
    const work = question.calculated?.(model) ?? ""
    if (call.role !== "proposer" || work === "") return play(call)
    const sheet = sheets.get(model) ?? new Worksheet(work)
    sheets.set(model, sheet)
    const due = turnOf(sheet, call)
    return due.length > 0 ? due : play(call)
  }
}
