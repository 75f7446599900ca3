"""What JSON Schema can't say of a body: to it 5.0 is a whole number, to CloudEvents it is none."""

import schemathesis


def whole(value):
    if isinstance(value, dict):
        return {name: int(each) if isinstance(each, float) and each.is_integer() else whole(each)
                for name, each in value.items()}
    if isinstance(value, list):
        return [whole(each) for each in value]
    return value


@schemathesis.hook
def map_body(context, body):
    return whole(body)
