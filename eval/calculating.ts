/**
 * Gives a calculator to models with recorded solutions. Either authors recompute every calculation of their solution before
 * they answer, or examiners recompute those that an answer shows.
 */
import { plain } from "../src/services/jobs/modes/engine/sameAnswer.ts"
import { MAX_QUESTIONS } from "../src/services/jobs/modes/verified/schemas.ts"
import type { Call, Play } from "./harness.ts"
import { playing, sections } from "./play.ts"
import { Worksheet } from "./Worksheet.ts"
import { isRight, type Question } from "./World.ts"

/** Continues a worksheet with the outputs of the turn before. No call is due if the model may make none. */
const turnOf = (sheet: Worksheet, { messages, offersTools }: Call) => {
  const outputs = messages.slice(messages.findLastIndex(({ role }) => role !== "tool") + 1)
  const due = sheet.next(outputs.map(({ content }) => Number(/^BEGIN \w+\n(.*)$/m.exec(String(content))?.[1])))
  return offersTools ? due : []
}

const sheetOf = (sheets: Map<string, Worksheet>, name: string, work: string): Worksheet => {
  const sheet = sheets.get(name) ?? new Worksheet(work)
  sheets.set(name, sheet)
  return sheet
}

/** Authors correct what follows from a corrected result; their answer changes if it is such a result. */
export const authors = (question: Question): Play => {
  const sheets = new Map<string, Worksheet>()
  const play = playing({ ...question, said: (model, nth) => sheets.get(model)?.corrected ?? question.said(model, nth) })
  return (call) => {
    const { model } = call.target
    const work = question.calculated?.(model) ?? ""
    if (call.role !== "proposer" || work === "") return play(call)
    const due = turnOf(sheetOf(sheets, model, work), call)
    return due.length > 0 ? due : play(call)
  }
}

const SHOWN = "; "
const workIn = (answer: string): string | undefined => (answer.includes(SHOWN) ? answer.split(SHOWN)[0] : undefined)

/** The answer alone, without the calculations it shows. */
export const finalOf = (answer: string): string => answer.split(SHOWN).at(-1) ?? ""

/** Answers show their calculations. Examiners recompute those of up to three answers; a judge drops contradicted answers. */
export const examiners = (question: Question): Play => {
  const play = playing(question)
  const sheets = new Map<string, Worksheet>()
  return (call) => {
    const { model } = call.target
    const answers = sections(call, / answer (\d+)$/)
    switch (call.kind) {
      case undefined: {
        const answer = play(call)
        const work = question.calculated?.(model) ?? ""
        if (call.role === "proposer") return work === "" ? answer : `${work}${SHOWN}${String(answer)}`
        const [, asked = ""] = sections(call, / question$/)[0] ?? []
        if (asked === question.task) return answer
        const sheet = sheetOf(sheets, asked, asked)
        const due = turnOf(sheet, call)
        return due.length > 0 ? due : sheet.results.map(String).join(" ")
      }
      case "compare": {
        const [, added = ""] = sections(call, / new answer$/)[0] ?? []
        const same = answers.find(([, answer]) => plain(finalOf(answer)) === plain(finalOf(added)))
        return JSON.stringify({ same_as: same?.[0] ?? null })
      }
      case "questions": {
        const questions = new Set(answers.flatMap(([, answer]) => workIn(answer) ?? []).map(questionsOf))
        return questions.size === 0 ? play(call) : JSON.stringify({ questions: [...questions].slice(0, MAX_QUESTIONS) })
      }
      case "reconcile": {
        const checks = sections(call, / question (\d+)$/).map(([number, asked, found]) => {
          const results = found.slice(found.indexOf(": ") + 2).split(" ")
          const fits = answers.flatMap(([n, answer]) => {
            const work = workIn(answer)
            const isAsked = work !== undefined && questionsOf(work) === asked
            return isAsked && new Worksheet(work).isContradicted(results.map(Number)) ? [] : [n]
          })
          return { question: number, fits, note: "" }
        })
        const own = { right: question.said(model, 0) }
        const right = answers.find(
          ([n, answer]) => isRight(finalOf(answer), own) && checks.every(({ fits }) => fits.includes(n)),
        )
        return JSON.stringify({ checks, right: right?.[0] ?? null })
      }
      default:
        return play(call)
    }
  }
}

const questionsOf = (work: string): string => new Worksheet(work).questions
