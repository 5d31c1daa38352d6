// Prints "ok" and "not ok" lines; the process ends with a status that says whether all were ok.
'use strict';
const { isDeepStrictEqual } = require('node:util');
const { setTimeout: sleep } = require('node:timers/promises');

let count = 0;
let failures = 0;

function ok(passed, what, ...facts) {
    count++;
    console.log(`${passed ? 'ok' : 'not ok'} ${count} - ${what}`);
    if (passed) return;
    failures++;
    for (const fact of facts) console.log(`#   ${JSON.stringify(fact)}`);
}

function equal(got, expected, what) {
    ok(isDeepStrictEqual(got, expected), what, { got }, { expected });
}

// Waits for the database to be in some state; resolves to what the condition did.
async function until(condition, what, seconds = 20) {
    const end = performance.now() + seconds * 1000;
    while (performance.now() < end) {
        const found = await condition();
        if (found) return found;
        await sleep(10);
    }
    throw new Error(`not within ${seconds} s: ${what}`);
}

// Runs a test to its end; open connections do not keep it.
function run(test) {
    test().then(() => {
        console.log(`1..${count}`);
        process.exit(failures > 0 || count === 0 ? 1 : 0);
    }, (error) => {
        console.log(error);
        process.exit(1);
    });
}

module.exports = { ok, equal, until, run };
