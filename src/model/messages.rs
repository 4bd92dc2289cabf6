//! stub
use super::*;
/// stub
pub struct Messages;
impl Wire for Messages {
    fn api(&self) -> WireApi {
        todo!()
    }
    fn path(&self) -> &'static str {
        todo!()
    }
    fn body(&self, _: &Request) -> Value {
        todo!()
    }
    fn framing(&self) -> Framing {
        todo!()
    }
    fn decoder(&self, _: &[ToolSpec]) -> Box<dyn Decoder> {
        todo!()
    }
}
