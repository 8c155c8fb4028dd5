import { appendFileSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nullLogger } from '@bigtap/kernel'
import { beforeEach, expect, test } from 'vitest'
import { AccessRecorder } from './access-recorder.ts'

let file: string

beforeEach(() => {
  file = join(mkdtempSync(join(tmpdir(), 'bigtap-record-')), 'access.log')
})

const recorderOf = (bytesMax = 1_000) => {
  const recorder = new AccessRecorder({ file, bytesMax }, { logger: nullLogger })
  recorder.start()
  return recorder
}

test('records stand in the file as they came, each behind its length', async () => {
  const recorder = recorderOf()
  recorder.write(Buffer.from('one'))
  recorder.write(Buffer.from(''))
  recorder.write(Buffer.from('three'))
  await recorder.stop()

  expect(readFileSync(file).toString('latin1')).toBe('\x03\0\0\0one\0\0\0\0\x05\0\0\0three')
})

test('a full file takes nothing more, and says so', async () => {
  const recorder = recorderOf(14)
  recorder.write(Buffer.from('one'))
  recorder.write(Buffer.from('four'))
  recorder.write(Buffer.from('two'))
  await recorder.stop()

  expect(recorder.state).toBe('full')
  expect(readFileSync(file).length).toBe(7)
})

test('after a restart it goes on, without the record that was cut in two', async () => {
  const first = recorderOf()
  first.write(Buffer.from('one'))
  await first.stop()
  appendFileSync(file, Buffer.from([9, 0, 0, 0, 1, 2]))

  const second = recorderOf()
  expect(second.bytes).toBe(7)
  second.write(Buffer.from('two'))
  await second.stop()

  expect(readFileSync(file).toString('latin1')).toBe('\x03\0\0\0one\x03\0\0\0two')
})

test('a file that cannot be opened is no reason not to work', async () => {
  const recorder = new AccessRecorder({ file: '/nowhere/at/all', bytesMax: 1_000 }, { logger: nullLogger })
  recorder.start()
  recorder.write(Buffer.from('one'))
  await recorder.stop()

  expect(recorder.state).toBe('failed')
})
