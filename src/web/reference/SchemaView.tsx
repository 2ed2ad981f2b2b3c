import { useContext } from "preact/hooks"
import { Fold } from "./Fold.tsx"
import type { Schema } from "./openApi.ts"
import { Prose } from "./Prose.tsx"
import { SchemasContext } from "./SchemasContext.ts"
import { boundsWords, formWords, insideOf, takesMore, typeWords } from "./schemaWords.ts"

/** The type of something and what holds beside it, after its name if it has one. */
export const TypeLine = ({
  name,
  place,
  required = false,
  schema,
}: {
  readonly schema: Schema
  readonly name?: string
  /** Where it is, unless that is in a body. */
  readonly place?: string
  readonly required?: boolean | undefined
}) => {
  const schemas = useContext(SchemasContext)
  const bounds = boundsWords(schema, schemas)
  return (
    <p class="line">
      {name !== undefined && <code class="name">{name}</code>}
      {place !== undefined && <span class="small muted">{place}</span>}
      <span class="type">{typeWords(schema, schemas)}</span>
      {required && <span class="small required">required</span>}
      {bounds.length > 0 && <span class="small muted">{bounds.join("; ")}</span>}
    </p>
  )
}

const Members = ({ schema }: { readonly schema: Schema }) => (
  <ul class="members">
    {Object.entries(schema.properties ?? {}).map(([name, member]) => (
      <li key={name}>
        <TypeLine name={name} schema={member} required={schema.required?.includes(name)} />
        {member.description !== undefined && <Prose text={member.description} />}
        <Inside schema={member} folded />
      </li>
    ))}
    {takesMore(schema) && <li class="small muted">and members of any other name</li>}
  </ul>
)

/** The members of what `schema` describes, or its forms; nothing where the type says it all. */
const Inside = ({ folded = false, schema }: { readonly schema: Schema; readonly folded?: boolean }) => {
  const schemas = useContext(SchemasContext)
  const inside = insideOf(schema, schemas)
  if (inside === undefined) return null
  if (inside.type === "members") {
    const count = Object.keys(inside.schema.properties ?? {}).length
    const members = () => <Members schema={inside.schema} />
    return folded ? <Fold summary={`${count} member${count === 1 ? "" : "s"}`}>{members}</Fold> : members()
  }
  const forms = () => (
    <ul class="members">
      {inside.forms.map((form, i) => (
        <li key={i}>
          {insideOf(form, schemas) === undefined ? (
            <TypeLine schema={form} />
          ) : (
            <Fold summary={<code>{formWords(form, schemas)}</code>} open={!folded && i === 0}>
              {() => <Inside schema={form} />}
            </Fold>
          )}
        </li>
      ))}
    </ul>
  )
  return folded ? <Fold summary={`one of ${inside.forms.length} forms`}>{forms}</Fold> : forms()
}

/** What a body is. */
export const SchemaView = ({ schema }: { readonly schema: Schema }) => {
  const inside = insideOf(schema, useContext(SchemasContext))
  return (
    <>
      {inside?.type === "members" ? null : <TypeLine schema={schema} />}
      <Inside schema={schema} />
    </>
  )
}
