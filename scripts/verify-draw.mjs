/**
 * `npm run verify-draw -- FILE`: checks a draw by its export (`GET /admin/v1/activities/A/skus/S/draw`): the seed is the one that
 * was committed to, all stand in its order, nobody stands there twice. Exits 1 and names the first mistake. `--uid N` also tells
 * the place of a buyer, `--commit HEX` compares with the commit that was published before the sale.
 */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { setUp } from './setup.mjs'

const options = { uid: { type: 'string' }, commit: { type: 'string' } }
const { values, positionals } = readArgs()
setUp()
const { DrawCheck, drawPseudonym, parseId } = await import('../packages/domain/dist/index.js')
const { drawHashes } = await import('../packages/token/dist/index.js')

const uid = values.uid === undefined ? undefined : parseId(values.uid)
if (values.uid !== undefined && uid === undefined) fail(`uid ${values.uid} is not a positive whole number`, 2)
const check = new DrawCheck(drawHashes)
const places = new Map()
try {
  for await (const line of createInterface({ input: createReadStream(positionals[0]) })) {
    check.line(line)
    if (uid !== undefined) notePlace(line)
  }
} catch (error) {
  fail(`${positionals[0]} cannot be read: ${error.message}`, 2)
}
const result = check.end()
if (!result.ok) fail(result.errors[0], 1)
const { header, places: count } = result.value
if (values.commit !== undefined && values.commit !== header.commit)
  fail(`the commit of the export is ${header.commit}, ${values.commit} was published`, 1)
console.log(`the draw of activity ${header.activityId}, SKU ${header.skuId} is right: ${count} places`)
console.log(`seed ${header.seed}\ncommit ${header.commit}`)
if (uid !== undefined) {
  const place = places.get(drawPseudonym(header, uid, drawHashes))
  console.log(place === undefined ? `buyer ${uid} took no part` : `buyer ${uid} has place ${place}`)
}

function readArgs() {
  try {
    const parsed = parseArgs({ options, allowPositionals: true })
    if (parsed.positionals.length === 1) return parsed
  } catch (error) {
    console.error(error.message)
  }
  return fail('usage: npm run verify-draw -- FILE [--uid N] [--commit HEX]', 2)
}

function notePlace(line) {
  if (check.mistake !== undefined || !line.includes('"pseudonym"')) return
  const { place, pseudonym } = JSON.parse(line)
  places.set(pseudonym, place)
}

function fail(message, code) {
  console.error(message)
  process.exit(code)
}
