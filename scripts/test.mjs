/**
 * `npm test`: every check, in order of cost, each as one line of the summary. The last line counts the single tests and
 * checks: `N passed, N failed, N skipped`. Flags: `--fast` leaves out the e2e and compatibility runs (and says so).
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root, setUp } from './setup.mjs'

const fast = process.argv.includes('--fast')
const total = { passed: 0, failed: 0, skipped: 0 }
const notes = []
const CHECK_MS_MAX = 20 * 60_000

setUp()
check('format and lint', process.execPath, ['node_modules/@biomejs/biome/bin/biome', 'check', '.'])
check('types of the tests', process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.tests.json'])
vitest('unit')
vitest('integration')
if (fast) skip('e2e', '--fast was given')
else vitest('e2e')
if (fast) skip('Node.js 22 and 24', '--fast was given')
else check('a sale on Node.js 22 and 24', process.execPath, ['scripts/compat.mjs'])

for (const note of notes) console.log(note)
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
process.exit(total.failed === 0 ? 0 : 1)

function check(name, command, args) {
  console.log(`\n== ${name}`)
  const done = spawnSync(command, args, { cwd: root, stdio: 'inherit', timeout: CHECK_MS_MAX })
  if (done.status === 0) total.passed++
  else {
    total.failed++
    notes.push(`FAILED  ${name}`)
  }
}

function skip(name, reason) {
  total.skipped++
  notes.push(`SKIPPED ${name}: ${reason}`)
}

function vitest(project) {
  console.log(`\n== ${project} tests`)
  const folder = mkdtempSync(join(tmpdir(), 'bigtap-test-'))
  const report = join(folder, 'report.json')
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--project', project, '--reporter=default', '--reporter=json']
  const done = spawnSync(process.execPath, [...args, `--outputFile.json=${report}`], {
    cwd: root,
    stdio: 'inherit',
    timeout: CHECK_MS_MAX,
  })
  count(project, done.status, existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : undefined)
  rmSync(folder, { recursive: true, force: true })
}

function count(project, status, report) {
  if (!report || report.numTotalTests === 0) {
    total.failed++
    notes.push(`FAILED  ${project} tests: no test ran`)
    return
  }
  total.passed += report.numPassedTests
  total.failed += report.numFailedTests
  total.skipped += report.numPendingTests + (report.numTodoTests ?? 0)
  if (status !== 0 && report.numFailedTests === 0) {
    total.failed++
    notes.push(`FAILED  ${project} tests: the runner exited with ${status}`)
  }
  for (const file of report.testResults) {
    if (file.status === 'failed' && file.assertionResults.length === 0) {
      total.failed++
      notes.push(`FAILED  ${file.name.slice(root.length + 1)}: ${file.message.split('\n')[0]}`)
    }
    for (const test of file.assertionResults) {
      if (test.status === 'failed') notes.push(`FAILED  ${file.name.slice(root.length + 1)}: ${test.fullName}`)
      if (test.status === 'pending' || test.status === 'skipped') notes.push(`SKIPPED ${test.fullName}`)
    }
  }
}
