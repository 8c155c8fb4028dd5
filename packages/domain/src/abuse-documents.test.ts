import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ABUSE_MODEL_SIZE, parseAbuseModel } from './abuse-model.ts'
import { ABUSE_RULES_MAX, DEFAULT_ABUSE_RULES, parseAbuseRules } from './abuse-rules.ts'

const [RULE] = DEFAULT_ABUSE_RULES.rules
const errorsOf = (parsed: ReturnType<typeof parseAbuseRules> | ReturnType<typeof parseAbuseModel>) =>
  parsed.ok ? [] : parsed.errors

describe('the rules about abuse', () => {
  test('that ship are sound, and are in force where a document names none', () => {
    expect(parseAbuseRules(JSON.parse(JSON.stringify(DEFAULT_ABUSE_RULES)))).toEqual({
      ok: true,
      value: DEFAULT_ABUSE_RULES,
    })
    expect(parseAbuseRules({ version: 2, isShadow: true })).toEqual({
      ok: true,
      value: { ...DEFAULT_ABUSE_RULES, version: 2, isShadow: true },
    })
    expect(parseAbuseRules({ version: 2, rules: [] })).toMatchObject({ ok: true, value: { rules: [] } })
  })

  test('are refused whole, with all that is wrong with them', () => {
    const rules = [
      { ...RULE, threshold: 0, forSeconds: 1 },
      { ...RULE, name: 'Not a name', reason: '' },
      { ...RULE, name: 'twice' },
      { ...RULE, name: 'twice' },
    ]
    expect(errorsOf(parseAbuseRules({ version: 0, isShadow: 'no', rules }))).toEqual([
      expect.stringMatching(/^version must be/),
      expect.stringMatching(/^isShadow must be true or false/),
      expect.stringMatching(/^rules\[0\]\.threshold must be a number from 1/),
      expect.stringMatching(/^rules\[0\]\.forSeconds must be a whole number from 5/),
      expect.stringMatching(/^rules\[1\]\.name must be a name/),
      expect.stringMatching(/^rules\[1\]\.reason must be/),
      'rules: the name twice is there more than once',
    ])
  })

  test.each([
    ['an address blocked', { kind: 'ip', figure: 'asks', tier: 5 }, /tier must be a whole number from 1 to 4/],
    ['buyers of a buyer', { kind: 'uid', figure: 'uids' }, /uids is not counted for kind uid/],
    [
      'addresses of a subnet',
      { kind: 'subnet', figure: 'addresses', tier: 2 },
      /addresses is not counted for kind subnet/,
    ],
    ['a window that nobody counts', { windowSeconds: 5 }, /windowSeconds must be one of 1, 10, 60/],
    [
      'a number of others in a second',
      { figure: 'addresses', windowSeconds: 1 },
      /windowSeconds must be 60 for addresses/,
    ],
    ['a figure that is not known', { figure: 'karma' }, /figure must be one of/],
  ])('with %s are refused', (_what, change, error) => {
    const errors = errorsOf(parseAbuseRules({ version: 1, rules: [{ ...RULE, ...change }] }))
    expect(errors).toEqual([expect.stringMatching(error)])
  })

  test('are not more than the limit', () => {
    const rules = Array.from({ length: ABUSE_RULES_MAX + 1 }, (_, index) => ({ ...RULE, name: `r${index}` }))
    expect(errorsOf(parseAbuseRules({ version: 1, rules }))).toHaveLength(1)
  })
})

describe('the model of abuse', () => {
  const model = {
    ...{ version: 3, featureSchema: 1, bias: -2.5, places: [1, 7, 4_095], weights: [0.5, -1.25, 3] },
    ...{ calibration: { a: 1.1, b: -0.2 }, steps: [{ score: 0.5, tier: 2, forSeconds: 30 }], trainedOn: 'a sale' },
  }

  test('is taken when it is sound', () => {
    expect(parseAbuseModel(JSON.parse(JSON.stringify(model)))).toEqual({ ok: true, value: model })
  })

  test.each([
    ['of another schema of features', { featureSchema: 2 }, /^featureSchema/],
    ['with a weight that is no number', { weights: [0.5, null, 3] }, /^weights\[1\] must not be null/],
    ['with an endless weight', { weights: [0.5, Number.POSITIVE_INFINITY, 3] }, /^weights\[1\] must not be Infinity/],
    ['with a huge weight', { weights: [0.5, 1e9, 3] }, /^weights\[1\]/],
    ['with fewer weights than places', { weights: [0.5] }, /^places has 3 numbers and weights 1/],
    ['with a place twice', { places: [1, 1, 2] }, /^places does not rise/],
    ['with a place that no feature has', { places: [1, 2, ABUSE_MODEL_SIZE] }, /^places\[2\]/],
    ['with a falling calibration', { calibration: { a: -1, b: 0 } }, /^calibration\.a/],
    ['without steps', { steps: [] }, /^steps is empty/],
    [
      'with steps that fall',
      { steps: [0.9, 0.5].map((score, at) => ({ score, tier: at + 2, forSeconds: 30 })) },
      /rise in score/,
    ],
    [
      'with steps that grow milder',
      { steps: [0.5, 0.9].map((score, at) => ({ score, tier: 3 - at, forSeconds: 30 })) },
      /rise in tier/,
    ],
    [
      'with too many weights',
      { weights: Array.from({ length: ABUSE_MODEL_SIZE + 1 }, () => 1) },
      /^weights must be a list/,
    ],
  ])('%s is refused whole', (_what, change, error) => {
    expect(errorsOf(parseAbuseModel({ ...model, ...change }))).toContainEqual(expect.stringMatching(error))
  })

  test('with thousands of bad weights does not fill the log with them', () => {
    const weights = Array.from({ length: ABUSE_MODEL_SIZE }, () => 'x')
    expect(errorsOf(parseAbuseModel({ ...model, weights })).length).toBeLessThan(10)
  })

  test('and rules of any shape never throw', () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), (one, other) => {
        parseAbuseModel(one)
        parseAbuseModel({ ...model, weights: one, steps: [other], calibration: other })
        parseAbuseRules(one)
        parseAbuseRules({ version: 1, rules: [one, { ...RULE, kind: other }] })
      }),
    )
  })
})
